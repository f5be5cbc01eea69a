/** Day (UTC) on which an event was accepted: its id begins with that time. */
export function dayOf(eventId: string): string {
  return new Date(Number.parseInt(eventId.replaceAll('-', '').slice(0, 12), 16)).toISOString().slice(0, 10);
}
