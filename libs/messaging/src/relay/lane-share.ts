/**
 * Lanes of one relay among several: the n-th of m members takes every m-th lane. All members compute it from the same list, so they agree
 * within one look at it, and nobody has to be asked. A relay that is not in the list (yet) has none.
 *
 * @param me key of this relay
 * @param members keys of all relays of the service, ascending
 */
export function laneShare(me: number, members: readonly number[], lanes: number): number[] {
  const rank = members.indexOf(me);
  if (rank === -1) return [];
  return Array.from({ length: lanes }, (_, lane) => lane).filter((lane) => lane % members.length === rank);
}
