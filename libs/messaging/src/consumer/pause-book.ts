export type Place = string | { topic: string; partition: number };

const nameOf = (place: Place): string => (typeof place === 'string' ? place : `${place.topic}/${place.partition}`);

/** Reasons that are nobody's decision: something of ours is away, and what waits behind it is not making progress. */
const faults = new Set(['database', 'vault', 'registry']);

/** Who has paused what. A place stays paused until every reason for it is gone. */
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
    return this.some(topic, partition, () => true);
  }

  /** Paused by a decision, such as a hold or a failing destination, and not for a fault alone. */
  isDeliberate(topic: string, partition: number): boolean {
    return this.some(topic, partition, (reason) => !faults.has(reason));
  }

  reasons(): string[] {
    return [...this.places.keys()];
  }

  private some(topic: string, partition: number, counts: (reason: string) => boolean): boolean {
    if (this.places.size === 0) return false;
    const own = `${topic}/${partition}`;
    for (const [reason, named] of this.places) if (counts(reason) && (named.has(topic) || named.has(own))) return true;
    return false;
  }
}
