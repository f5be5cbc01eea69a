import type { RetryTier } from '#contracts';
import type { Database, Logger, Telemetry } from '#runtime';
import type { Contacts } from './contacts/contacts.js';
import type { DestinationControl } from './destination/control.js';
import type { Lateness } from './lateness.js';
import type { ReplayGate } from './permits/replay-gate.js';
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
  /** Whether and how much may be sent. Started and stopped by its maker, after and before the engine. */
  destination: DestinationControl;
  /** Needed when any plan says `needsVault`. */
  vault?: Vault;
  /** Needed when any plan names a contact. */
  contacts?: Contacts;
  /** Stands before records of a replay topic; absent: all of them are refused. */
  replays?: ReplayGate;
  /** Name of the consumer group, for spans. */
  group: string;
  /** The consumer whose records come in; asked when it is needed, so that it may be made later. */
  control: () => GroupControl;
  /** Topic of the group's dead letters. */
  dlqTopic: string;
  /** The group's topic of a retry tier. */
  wakeTopic: (tier: RetryTier) => string;
  /** Tells the relay that outbox rows were written. */
  relayWake: () => void;
  /** Is told how late each wake-up was claimed: the sweeper of this process waits for as long. */
  lateness?: Pick<Lateness, 'note'>;
  telemetry: Telemetry;
  logger: Logger;
  /** How long a claim holds, in milliseconds; default 30,000, renewed each third. Must be longer than the target's timeout. */
  leaseMs?: number;
}
