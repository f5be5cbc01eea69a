interface SentItem {
  canary: boolean;
  sent_at: string | null;
  closed_at: string | null;
}

export interface Pace {
  /** Items a second from the first to the last behind the canary. */
  rate: number;
  /** Most that went out within any one second, with the canary. */
  busiestSecond: number;
  /** Most that were under way at once. */
  underWay: number;
  /** Sum of all times of more than a second in which nothing went out behind the canary, in milliseconds. */
  standstillMs: number;
}

/** At what pace the items of a batch went out, by the times that stand at them. */
export function paceOf(items: readonly SentItem[]): Pace {
  const sent = timesOf(items.map(({ sent_at }) => sent_at));
  const behind = timesOf(items.filter(({ canary }) => !canary).map(({ sent_at }) => sent_at));
  const gaps = behind.slice(1).map((atMs, index) => atMs - (behind[index] ?? atMs));
  const spanMs = (behind.at(-1) ?? 0) - (behind[0] ?? 0);
  return {
    rate: ((behind.length - 1) * 1_000) / spanMs,
    busiestSecond: busiest(sent),
    underWay: most(sent, timesOf(items.map(({ closed_at }) => closed_at))),
    standstillMs: gaps.filter((ms) => ms > 1_000).reduce((sum, ms) => sum + ms, 0),
  };
}

const timesOf = (times: readonly (string | null)[]): number[] =>
  times.flatMap((time) => (time === null ? [] : [Date.parse(time)])).toSorted((one, other) => one - other);

function busiest(times: readonly number[]): number {
  let from = 0;
  let found = 0;
  for (const [index, atMs] of times.entries()) {
    while ((times[from] ?? atMs) <= atMs - 1_000) from += 1;
    found = Math.max(found, index - from + 1);
  }
  return found;
}

function most(begun: readonly number[], ended: readonly number[]): number {
  let over = 0;
  let found = 0;
  for (const [index, atMs] of begun.entries()) {
    while ((ended[over] ?? Number.POSITIVE_INFINITY) < atMs) over += 1;
    found = Math.max(found, index + 1 - over);
  }
  return found;
}
