/** At most this long, whatever is answered. */
const longestMs = 300_000;

/** Two clocks of this machine at one moment: one that nobody sets, and one that goes on while the machine sleeps. */
export interface Moment {
  steady: number;
  wall: number;
}
export const momentNow = (): Moment => ({ steady: performance.now(), wall: Date.now() });

/** How long something may be shown from its receipt on, by the clock of the service that answered (`date`: its header) and not by this machine's. */
export function showForMs(until: string, date: string | null): number {
  const left = Date.parse(until) - (date === null ? Date.now() : Date.parse(date));
  return Number.isNaN(left) ? 0 : Math.min(longestMs, left);
}

/** What is left of it; a clock that is set back gives nothing, and one that is set forward hides early. */
export function leftMs(showMs: number, received: Moment, now: Moment): number {
  return showMs - Math.max(now.steady - received.steady, now.wall - received.wall);
}
