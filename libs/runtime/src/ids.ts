import { v7 } from 'uuid';
import { takeRandom } from './random.js';

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Event id: uuid v7, so that index pages fill in order. */
export function newEventId(): string {
  return v7();
}

/** Lead reference for people and destinations: `L-` and 16 Crockford base-32 characters (80 random bits). */
export function newLeadRef(): string {
  let text = 'L-';
  for (const byte of takeRandom(16)) text += crockford[byte & 31];
  return text;
}
