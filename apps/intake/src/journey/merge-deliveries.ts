import type { DeliveryStateItem } from '#delivery';
import type { DeliveryRow } from '../entities/delivery.entity.js';
import type { JourneyDelivery } from './journey.js';

/**
 * Each delivery of a lead, as its owner says now; where the owner did not answer, or does not know it, as last known. A delivery that only the
 * owner knows is shown too: nothing is left out because two services disagree.
 */
export function mergeDeliveries(known: readonly DeliveryRow[], live: readonly DeliveryStateItem[] | undefined): JourneyDelivery[] {
  const byDestination = new Map(known.map((row) => [row.destination, lastKnown(row)]));
  for (const item of live ?? []) byDestination.set(item.destination, asOwnerSays(item));
  return [...byDestination.values()];
}

function lastKnown(row: DeliveryRow): JourneyDelivery {
  return {
    destination: row.destination,
    state: row.state,
    ...(row.class !== null && { class: row.class }),
    ...(row.code !== null && { code: row.code }),
    as_of: row.asOf.toISOString(),
    operations: row.operations,
  };
}

function asOwnerSays(item: DeliveryStateItem): JourneyDelivery {
  return {
    destination: item.destination,
    state: item.state,
    ...(item.class !== undefined && { class: item.class }),
    ...(item.code !== undefined && { code: item.code }),
    as_of: item.as_of,
    operations: item.operations.map(({ kind, state, ref }) => ({ kind, state, ...(ref !== undefined && { ref }) })),
  };
}
