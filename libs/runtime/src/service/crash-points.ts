/**
 * Places between two durable steps where a crash must cost nothing and double nothing. One list: every one of them has a crash test.
 */
export const crashPoints = [
  'claimed',
  'contact_taken',
  'marked',
  'sent',
  'answered',
  'part_recorded',
  'recorded',
  'published',
  'deleted',
  'settled',
  'committed',
  'swept',
  'looked_up',
  'verified',
  'replay_claimed',
] as const;
export type CrashPoint = (typeof crashPoints)[number];

const wanted = process.env.LD_CRASH_AT;
const still = new Int32Array(new SharedArrayBuffer(4));

/**
 * Does nothing, unless LD_CRASH_AT names this point (`answered`, or `answered:3` for the third time it is reached): then the process says so
 * on standard output and stands still with everything it has in hand, until it is killed from outside.
 */
export const crashPoint: (point: CrashPoint) => void = wanted === undefined ? () => {} : standStillAt(wanted);

/** The same once what was asked of the sockets in this turn has left, and before any answer is read. */
export const crashPointSoon: (point: CrashPoint) => void =
  wanted === undefined ? () => {} : (point) => void setImmediate(() => crashPoint(point));

function standStillAt(text: string): (point: CrashPoint) => void {
  const [name, times] = text.split(':');
  let left = Number(times ?? 1);
  return (point) => {
    if (point !== name || --left > 0) return;
    process.stdout.write(`${JSON.stringify({ crash_point: point, pid: process.pid })}\n`);
    Atomics.wait(still, 0, 0);
  };
}
