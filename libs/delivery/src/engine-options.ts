import type { Database, Logger, Telemetry } from '#runtime';
import type { Target } from './target.js';
import type { Vault } from './vault.js';

/** The part of a group consumer that the engine steers. */
export interface GroupControl {
  pause(reason: string): void;
  resume(reason: string): void;
}

export interface DeliveryEngineOptions<E> {
  db: Database;
  target: Target<E>;
  /** Needed when any plan says `needsVault`. */
  vault?: Vault;
  /** Name of the consumer group, for spans. */
  group: string;
  /** The consumer whose records come in; asked when it is needed, so that it may be made later. */
  control: () => GroupControl;
  /** Where records that can be no delivery are announced, key and value untouched. */
  dlqTopic: string;
  /** Tells the relay that outbox rows were written. */
  relayWake: () => void;
  telemetry: Telemetry;
  logger: Logger;
  /** How long a claim holds, in milliseconds; default 30,000, renewed each third. Must be longer than the target's timeout. */
  leaseMs?: number;
}
