import { headers } from '#contracts';
import type { ConsumedRecord } from '#messaging';
import type { InternalClient, Logger } from '#runtime';
import { BatchStates } from './batch-states.js';
import type { Permit } from './permit.js';
import { loadPermitPublicKeys } from './permit-keys.js';
import { permitReader } from './permit-token.js';

export type RefusedReplay = 'no_permit' | 'bad_permit' | 'permit_expired' | 'batch_ended';

/**
 * What a record on a replay topic comes to before any row is looked at.
 * - `item`: may be claimed once, if event id and destination of the permit are those of the delivery.
 * - `refused`: to be settled without effect; the delivery stays as it is.
 * - `later`: nobody can say now (the operator has not answered for 5 s, or its batch is paused); hand the record back for that long.
 */
export type ReplayVerdict =
  | { kind: 'item'; permit: Permit }
  | { kind: 'refused'; code: RefusedReplay }
  | { kind: 'later'; delayMs: number };

/** Stands before every claim of a replayed record. */
export interface ReplayGate {
  /** Checks signature, time limit and the state of the batch. Never rejects. */
  admit(record: ConsumedRecord): Promise<ReplayVerdict>;
}

export interface ReplayGateOptions {
  /** Folder with `permit-public.json`. */
  secretsDir: string;
  /** The operator's internal API; its timeout bounds how long `admit` takes. */
  operator: Pick<InternalClient, 'post'>;
  logger: Logger;
  /** Milliseconds that only ever grow; default: those of this process. */
  elapsedMs?: () => number;
}

const laterMs = 1_000;

/** Opens the gate. Throws ConfigError where the public keys are missing or malformed. */
export function openReplayGate({ secretsDir, operator, logger, elapsedMs = () => performance.now() }: ReplayGateOptions): ReplayGate {
  const readPermit = permitReader(loadPermitPublicKeys(secretsDir));
  const batches = new BatchStates({ operator, logger, elapsedMs });
  return {
    admit: async (record) => {
      const token = record.headers[headers.replayPermit]?.toString();
      if (token === undefined) return { kind: 'refused', code: 'no_permit' };
      const permit = await readPermit(token);
      if (permit === undefined || !isFor(permit, record)) return { kind: 'refused', code: 'bad_permit' };
      const batch = await batches.stateOf(permit.batchId);
      if (batch === undefined || batch.state === 'paused') return { kind: 'later', delayMs: laterMs };
      if (batch.state === 'ended') return { kind: 'refused', code: 'batch_ended' };
      if (batch.now > permit.notAfter) return { kind: 'refused', code: 'permit_expired' };
      return { kind: 'item', permit };
    },
  };
}

/** A permit that was moved to another lead's record fits no more. */
function isFor(permit: Permit, record: ConsumedRecord): boolean {
  const eventId = record.headers[headers.eventId]?.toString();
  return eventId === undefined || eventId.toLowerCase() === permit.eventId;
}
