const digits = /^\d{1,15}$/;
/** No tier waits nearly as long: a later time is a mistake of whoever wrote it. */
const longestWaitMs = 24 * 3_600_000;

/**
 * Until when a tier record waits, epoch milliseconds; undefined when it is due now. A missing, garbled, negative or absurd header means due
 * now: the row behind the record knows better and says "not yet" where that is wrong.
 */
export function notBeforeMs(header: Buffer | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.toString('latin1');
  if (!digits.test(text)) return undefined;
  const due = Number(text);
  return due <= nowMs || due - nowMs > longestWaitMs ? undefined : due;
}
