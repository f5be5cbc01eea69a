/** Event id: uuid v7, so that index pages fill in order. */
export function newEventId(): string {
  throw new Error('not implemented');
}

/** Lead reference for people and destinations: `L-` and 16 Crockford base-32 characters (80 random bits). */
export function newLeadRef(): string {
  throw new Error('not implemented');
}
