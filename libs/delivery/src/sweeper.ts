import type { Database, Logger } from '#runtime';

export interface SweptTarget {
  nativeIdempotency: boolean;
  /** The group's smallest retry tier: where wake-ups go. */
  wakeTopic: string;
}

export interface SweeperOptions {
  db: Database;
  /** By `delivery.destination`; rows of unknown destinations are left alone and counted. */
  target(destination: string): SweptTarget | undefined;
  relayWake: () => void;
  logger: Logger;
  /** Default 5,000. */
  everyMs?: number;
}

/** Finds rows that no record would wake any more: leases that ran out, due rows without a wake-up. One instance sweeps at a time. */
export class Sweeper {
  constructor(_options: SweeperOptions) {
    throw new Error('not implemented');
  }

  start(): void {
    throw new Error('not implemented');
  }

  stop(): Promise<void> {
    throw new Error('not implemented');
  }
}
