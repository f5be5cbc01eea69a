export type Place = string | { topic: string; partition: number };

const nameOf = (place: Place): string => (typeof place === 'string' ? place : `${place.topic}/${place.partition}`);

/**
 * Kinds of reasons that are a decision. Every other one is a fault: something of ours is away, and what waits behind it is not making
 * progress. One that nobody thought of here is a fault as well, so that it shows.
 */
const decisions = new Set(['destination', 'hold']);

/** A reason is its kind, alone or with whose it is: `database`, `database (sales)`. */
const kindOf = (reason: string): string => reason.replace(/ \(.*\)$/s, '');

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
    return this.some(topic, partition, (reason) => decisions.has(kindOf(reason)));
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
