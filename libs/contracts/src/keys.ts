/** Operation key = event id + destination + kind; an approved repair generation adds `~g<n>`. Stable across attempts and replays. */
// eslint-disable-next-line @typescript-eslint/max-params -- the key is these parts in this order
export function operationKey(eventId: string, destination: string, kind: string, generation = 1): string {
  const base = `${eventId}:${destination}:${kind}`;
  return generation === 1 ? base : `${base}~g${generation}`;
}

/** Delivery name of a lead that no routing rule matched. */
export const unrouted = 'unrouted';
