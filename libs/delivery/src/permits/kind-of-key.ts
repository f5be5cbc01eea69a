/** `contact` of `<event>:<destination>:contact~g2`. */
export function kindOfKey(operationKey: string, { eventId, destination }: { eventId: string; destination: string }): string {
  return operationKey.slice(`${eventId}:${destination}:`.length).replace(/~g\d+$/, '');
}
