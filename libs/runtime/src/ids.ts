import { v7 } from 'uuid';
import { takeRandom } from './random.js';

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Of the newest id by this process's clock: ids of one millisecond count on, so that they sort by time of making. */
let newestMs = 0;
let newestSeq = 0;

/** Event id: uuid v7, so that index pages fill in order. `atMs` (epoch milliseconds) is the time in it; default: this process's clock. */
export function newEventId(atMs?: number): string {
  const random = takeRandom(16);
  if (atMs !== undefined) return v7({ msecs: atMs, random });
  const nowMs = Date.now();
  if (nowMs > newestMs) {
    newestMs = nowMs;
    newestSeq = random.readUInt32BE(6) >>> 1;
  } else {
    newestSeq = (newestSeq + 1) % 2 ** 32;
    if (newestSeq === 0) newestMs += 1;
  }
  return v7({ msecs: newestMs, seq: newestSeq, random });
}

/** The lowest event id of a millisecond: ids made earlier are below it, all others are not. */
export function firstEventId(atMs: number): string {
  const time = Math.trunc(Math.max(atMs, 0)).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}

/** Lead reference for people and destinations: `L-` and 16 Crockford base-32 characters (80 random bits). */
export function newLeadRef(): string {
  let text = 'L-';
  for (const byte of takeRandom(16)) text += crockford[byte & 31];
  return text;
}
