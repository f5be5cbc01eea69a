export type Place = string | { topic: string; partition: number };

const nameOf = (place: Place): string => (typeof place === 'string' ? place : `${place.topic}/${place.partition}`);

/** Who has paused what on purpose. A place stays paused until every reason for it is gone. */
export class PauseBook {
  private readonly places = new Map<string, Set<string>>();

  constructor(private readonly topics: readonly string[]) {}

  /** All topics when no place is named. */
  pause(reason: string, where: readonly Place[] = this.topics): void {
    const named = this.places.get(reason) ?? new Set();
    for (const place of where) named.add(nameOf(place));
    this.places.set(reason, named);
  }

  /** Everywhere when no place is named. */
  resume(reason: string, where?: readonly Place[]): void {
    const named = this.places.get(reason);
    for (const place of where ?? []) named?.delete(nameOf(place));
    if (where === undefined || named?.size === 0) this.places.delete(reason);
  }

  isPaused(topic: string, partition: number): boolean {
    if (this.places.size === 0) return false;
    const own = `${topic}/${partition}`;
    for (const named of this.places.values()) if (named.has(topic) || named.has(own)) return true;
    return false;
  }

  reasons(): string[] {
    return [...this.places.keys()];
  }
}
