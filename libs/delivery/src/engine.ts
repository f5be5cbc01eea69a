import type { Received } from '#messaging';
import type { Database, Logger, Telemetry } from '#runtime';
import type { Target } from './target.js';
import type { Vault } from './vault.js';

/** The part of a group consumer that the engine steers. */
export interface GroupControl {
  pause(reason: string, topics?: readonly string[]): void;
  resume(reason: string, topics?: readonly string[]): void;
}

export interface DeliveryEngineOptions<E> {
  db: Database;
  target: Target<E>;
  /** Needed when any plan says `needsVault`. */
  vault?: Vault;
  /** The consumer whose records come in; asked when it is needed, so that it may be made later. */
  group: () => GroupControl;
  /** Main topic: what is paused while the target fails. Tiers go on. */
  mainTopic: string;
  /** Where records that carry no readable event are announced, key and value untouched. */
  dlqTopic: string;
  /** Tells the relay that outbox rows were written. */
  relayWake: () => void;
  telemetry: Telemetry;
  logger: Logger;
  /** How long a claim holds, in milliseconds. Default 30,000; renewed each third. */
  leaseMs?: number;
}

/** Claim → send → record → settle for the deliveries of one target. */
export class DeliveryEngine<E> {
  constructor(_options: DeliveryEngineOptions<E>) {
    throw new Error('not implemented');
  }

  /** Takes records over; returns at once. Each receipt is settled when its delivery is durable in the table, or was already. */
  take(_received: readonly Received<E>[]): void {
    throw new Error('not implemented');
  }

  /** Stops taking, lets calls in flight finish and be recorded, up to graceMs. What is left is released or found by its lease. */
  stop(_graceMs?: number): Promise<void> {
    throw new Error('not implemented');
  }
}
