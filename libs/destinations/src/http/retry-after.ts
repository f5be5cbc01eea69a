const seconds = /^\d{1,9}$/;
/** Each form of RFC 9110's HTTP-date begins with the name of a day. */
const httpDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/** `Retry-After` (RFC 9110) in milliseconds from now: whole seconds, or a date in any of its three forms. Nothing where it is neither or over. */
export function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  const ms = seconds.test(text) ? Number(text) * 1_000 : httpDate.test(text) ? dateMs(text) - nowMs : 0;
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}

/** The form of `asctime` names no zone; it is in UTC as the other two are. */
function dateMs(text: string): number {
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
}
