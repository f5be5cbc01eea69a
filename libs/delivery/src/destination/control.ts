import type { Notifications } from '#messaging';
import type { Database, Logger } from '#runtime';
import type { Outcome } from '../outcome.js';
import type { Backoff } from '../target.js';
import type { LookupDoor } from './lookup-door.js';

/** When a destination's failures are the destination's and not the leads'. */
export interface BreakerPolicy {
  /** Distinct operations whose last outcome counts. Default 20. */
  window: number;
  /** Outcomes before anything is concluded; all of them failed: blocked. Default 5. */
  minimum: number;
  /** Share of a full window that failed: blocked. Default 0.9. */
  ratio: number;
  /** Until the first probe. Default 15,000; doubled each time the probe fails. */
  coolDownMs: number;
  /** Default 60,000. */
  longestCoolDownMs: number;
}

/** So many requests in any span of `perMs`, over all processes. */
export interface Quota {
  requests: number;
  perMs: number;
}

export interface DestinationPolicy {
  /** Calls in flight at once, of this process. */
  concurrency: number;
  breaker: BreakerPolicy;
  /** Share of this process's requests of the last minute that may be retries, while more than that share of its last calls failed. Default 0.2. */
  retryBudget: number;
  quota?: Quota;
  /** How long to leave a destination alone that throttles without saying for how long, and a retry that finds no budget. */
  backoff: Backoff;
}

/** `probing`: this process may make exactly one call now. `blocked`: none. `ramping`: some, more each second. */
export type Mode = 'flowing' | 'ramping' | 'probing' | 'blocked';

/** Why it is blocked. None while blocked: what the others know could not be read for more than 5 s. */
export type BlockReason = 'failing' | 'throttled' | 'auth' | 'hold';

export type Admission = { kind: 'go' } | { kind: 'blocked' } | { kind: 'wait'; delayMs: number; reason: 'retry_budget' | 'quota' };

/** Whose credentials or rights an `auth` outcome speaks of: of all leads (it is blocked then), or of this lead alone. */
export type AuthScope = 'destination' | 'lead';

export type AuthOutcome = Extract<Outcome, { kind: 'auth' }>;

/**
 * What one process may send to one destination now. All processes share what they learn about it through a row; whatever is older than
 * 5 s counts as blocked.
 */
export interface DestinationControl {
  readonly mode: Mode;
  readonly reason?: BlockReason;
  /** Calls that may be in flight at once now: 0 while blocked, 1 while probing. */
  limit(): number;
  /** May this call be made? `go` counts it: exactly one `report` or `withdraw` must follow. */
  admit(call: { operationKey: string; retry: boolean }): Admission;
  /**
   * True where an admitted call waited so long (for its mark) that what it took from the quota is void: sent now, it would be one too many in
   * some span. Withdraw it and ask again.
   */
  isStale(operationKey: string): boolean;
  /** What an admitted call came to, however it ended. */
  report(call: { operationKey: string; outcome: Outcome }): void;
  /** An admitted call was not made after all (its lease was gone, its data erased): the next may have its place. */
  withdraw(operationKey: string): void;
  /** Stands before lookups, which go past `admit` and `limit`. */
  readonly lookups: LookupDoor;
  /** Asks the destination's own check call, once for all that ask at the same time. Never rejects. */
  authScope(outcome: AuthOutcome): Promise<AuthScope>;
  /** Called after each change of `mode` or `reason`, and with the same mode again whenever more may be sent than before. */
  onMode(listener: (mode: Mode) => void): void;
  /** Resolves after the first look at the row, whatever came of it; until then the mode is `blocked`. */
  start(): Promise<void>;
  /** Gives an unused probe back. Blocked from here on. */
  stop(): Promise<void>;
}

export interface DestinationControlOptions {
  db: Database;
  destination: string;
  policy: DestinationPolicy;
  /** A cheap call that proves credentials and reachability. Absent: a 401 blocks, a 403 is taken for the lead's own. */
  check?(): Promise<{ ok: boolean; code?: string }>;
  logger: Logger;
  /** Of the database; absent: polling alone, a second late at most. */
  notifications?: Notifications;
  /** Names this process in the row; default a random one. */
  instanceId?: string;
}
