/** Operation key = event id + destination + kind; an approved repair generation adds `~g<n>`. Stable across attempts and replays. */
// eslint-disable-next-line @typescript-eslint/max-params -- the key is these parts in this order
export function operationKey(eventId: string, destination: string, kind: string, generation = 1): string {
  const base = `${eventId}:${destination}:${kind}`;
  return generation === 1 ? base : `${base}~g${generation}`;
}

/** Delivery name of a lead that no routing rule matched. */
export const unrouted = 'unrouted';

/** Stands for the destination of a refused record wherever an item is named; its own id stands for the event's. */
export const refusedRecord = 'rejected';

/** Namespace (UUID v5) of resolution ids; part of the public contract, so never changed. */
export const resolutionNamespace = '6f9dd2b4-4d0c-5f0e-9a51-0c8f4a6d2e17';

/** Name (UUID v5) of a resolution: equal for every announcement of the same outcome. */
export function resolutionName(eventId: string, destination: string, outcome: { generation: number; state: string }): string {
  return `${eventId}:${destination}:${outcome.generation}:${outcome.state}`;
}
