import type { DeliveryState } from '#contracts';
import type { OutboxRow } from '#messaging';
import type { Database, Logger, Telemetry } from '#runtime';
import type { CallTimes } from './call-times/index.js';
import type { Lateness } from './lateness.js';
import { Purge, type PurgeOptions } from './purge.js';
import type { StoredDelivery } from './stored-delivery.js';
import { Sweeper } from './sweeper.js';
import type { SweptTarget, VerifiedTarget } from './swept-target.js';
import { Verifier } from './verifier.js';

export interface UpkeepOptions {
  db: Database;
  /** By `delivery.destination`: of every destination of this service, also those that another process serves. */
  target(destination: string): SweptTarget | undefined;
  /** Of the destinations that this process serves. */
  verified(destination: string): VerifiedTarget | undefined;
  /** Their names, where they are few: lookups of one hold up none of another. */
  served?: readonly string[];
  /** What is announced of the end of a row whose destination is not configured any more. */
  orphaned?(after: StoredDelivery): OutboxRow[] | Promise<OutboxRow[]>;
  onLeaseExpired?(expired: { destination: string; state: DeliveryState; test: boolean }): void;
  /** A delivery was changed without a claim. Told once that is committed. */
  onChange?(after: StoredDelivery): void;
  /** Of tables of the service's own, beside the engine's: see {@link PurgeOptions}. */
  purges?: PurgeOptions['others'];
  /** Of the calls that this process makes. */
  callTimes?: CallTimes;
  relayWake: () => void;
  telemetry: Telemetry;
  logger: Logger;
  /** Of the engines of this process. */
  lateness?: Lateness;
  /** Between sweeps; default 5,000. */
  sweepMs?: number;
  /** Of the verifier; default 50,000. */
  longestLookupMs?: number;
}

/** What one service's process does beside its records: sweeper, verifier, purge, and writing how long calls took. */
export interface Upkeep {
  start(): void;
  stop(): Promise<void>;
}

export function createUpkeep(options: UpkeepOptions): Upkeep {
  const sweeper = new Sweeper({ ...options, everyMs: options.sweepMs });
  const verifier = new Verifier({ ...options, target: options.verified });
  const purge = new Purge({ db: options.db, logger: options.logger, others: options.purges });
  const { callTimes } = options;
  const parts = [sweeper, verifier, purge, ...(callTimes === undefined ? [] : [callTimes])];
  return {
    start: () => {
      for (const part of parts) part.start();
    },
    stop: async () => void (await Promise.all(parts.map((part) => part.stop()))),
  };
}
