const digits = /^\d{1,15}$/;
/** No tier waits nearly as long: a later time is a mistake of whoever wrote it. */
const longestWaitMs = 24 * 3_600_000;

/** What the header says, epoch milliseconds, past or to come; undefined when it is missing or garbled. */
export function dueMsOf(header: Buffer | undefined): number | undefined {
  const text = header?.toString('latin1');
  return text !== undefined && digits.test(text) ? Number(text) : undefined;
}

/**
 * Until when a tier record waits, epoch milliseconds; undefined when it is due now. A missing, garbled, negative or absurd header means due
 * now: the row behind the record knows better and says "not yet" where that is wrong.
 */
export function notBeforeMs(header: Buffer | undefined, nowMs: number): number | undefined {
  const due = dueMsOf(header);
  return due === undefined || due <= nowMs || due - nowMs > longestWaitMs ? undefined : due;
}
