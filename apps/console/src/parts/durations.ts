const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** A duration as the API takes it: `4h`, `90s`; exact to the millisecond. */
export function durationText(ms: number): string {
  const whole = units.find(([, size]) => ms >= size && ms % size === 0);
  return whole === undefined ? `${ms}ms` : `${ms / whole[1]}${whole[0]}`;
}
