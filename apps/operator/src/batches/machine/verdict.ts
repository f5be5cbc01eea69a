import type { ReplayFacts } from '#delivery';

/** What a dry run says of an item. Only `eligible` ones are approved. */
export const itemVerdicts = [
  'eligible',
  'already_at_destination',
  'expired_beyond_max_age',
  'consent_withdrawn',
  'key_retention_passed',
  'destination_held',
  'in_flight',
  'erased',
  'mapping_changed',
  'not_replayable',
  'already_in_batch',
  'uncertain',
  'not_needed',
  'changed_by_person',
] as const;
export type ItemVerdict = (typeof itemVerdicts)[number];

export interface Verdict {
  verdict: ItemVerdict;
  /** A short word: the other batch's id, a state, a code. */
  detail?: string;
}

/** What the letter says. */
export interface ItemFacts {
  submittedAt?: Date;
  /** Of the round that the letter tells of. */
  deadlineAt?: Date;
  /** The record's bytes are here. */
  hasRecord: boolean;
  /** A person has closed the letter as dealt with: sent all the same, the lead would be there twice. */
  dismissed?: boolean;
  /** A refused record: its bytes lie sealed at intake, and it has no deadline before it is a lead. */
  isRefused?: boolean;
  /** What keeps it from being sent at all, in words: there is no topic for it that somebody reads. */
  notReplayable?: string;
  /** A batch that this delivery is in and that has not ended. */
  otherBatch?: string;
  /** By the lead's policy. */
  maxAgeMs: number;
  /** Facts that the list was frozen with; another request or generation is not what is approved. */
  frozen: { requestHash?: string; mappingVersion?: number; generation?: number };
}

/** What is known of the destination and of the lead's payload. */
export interface Around {
  now: Date;
  held: boolean;
  nativeIdempotency: boolean;
  keyRetentionMs: number;
  requiresConsent: boolean;
  /** `gone`: nothing is kept of the lead any more. */
  payload: 'kept' | 'withdrawn' | 'gone';
  /** What lookups of what may have happened have found; absent: it was not looked up. */
  found?: 'one' | 'several' | 'none' | 'unknown';
}

/** Whether an item may be tried again, by what its delivery is at its owner now. Undefined facts: its owner does not know it. */
export function judge(item: ItemFacts, delivery: ReplayFacts | undefined, around: Around): Verdict {
  if (item.notReplayable !== undefined) return { verdict: 'not_replayable', detail: item.notReplayable };
  if (item.dismissed) return { verdict: 'not_replayable', detail: 'dismissed' };
  if (item.otherBatch !== undefined) return { verdict: 'already_in_batch', detail: item.otherBatch };
  if (delivery === undefined) return { verdict: 'not_replayable', detail: 'unknown_delivery' };
  return (
    byState(delivery) ??
    byLetter(item, delivery) ??
    byPayload(around) ??
    byRequest(item, delivery, around) ??
    standing(item, delivery, around)
  );
}

function byState({ state }: ReplayFacts): Verdict | undefined {
  switch (state) {
    case 'delivered':
      return { verdict: 'already_at_destination', detail: 'delivered' };
    case 'erased':
      return { verdict: 'erased' };
    case 'discarded':
      return { verdict: 'not_replayable', detail: 'discarded' };
    case 'uncertain':
      return { verdict: 'uncertain' };
    case 'dead':
    case 'expired':
      return undefined;
    default:
      return { verdict: 'in_flight', detail: state };
  }
}

function byLetter(item: ItemFacts, delivery: ReplayFacts): Verdict | undefined {
  if (item.isRefused) return undefined;
  if (item.deadlineAt?.getTime() !== Date.parse(delivery.deadline_at)) return { verdict: 'not_replayable', detail: 'superseded' };
  return item.hasRecord && delivery.operations.length > 0 ? undefined : { verdict: 'not_replayable', detail: 'no_record' };
}

function byPayload({ payload, requiresConsent }: Around): Verdict | undefined {
  if (payload === 'gone') return { verdict: 'erased', detail: 'nothing_kept' };
  return payload === 'withdrawn' && requiresConsent ? { verdict: 'consent_withdrawn' } : undefined;
}

/** A key that its destination has forgotten makes a second record where the first call went through unheard. */
function byRequest({ frozen }: ItemFacts, delivery: ReplayFacts, around: Around): Verdict | undefined {
  const { found } = around;
  if (found === 'one' || found === 'several') return { verdict: 'already_at_destination', detail: `lookup_${found}` };
  const left = delivery.operations.filter(({ state }) => state !== 'succeeded');
  const remapped = left.some(({ mapping_version: pinned }) => pinned !== undefined && pinned !== (delivery.mapping_version ?? pinned));
  const hashes = requestHashOf(delivery);
  if (remapped || (frozen.generation !== undefined && (frozen.generation !== delivery.generation || frozen.requestHash !== hashes))) {
    return { verdict: 'mapping_changed' };
  }
  const doubtful = left.flatMap(({ doubtful_since: since }) => (since === undefined ? [] : [Date.parse(since)]));
  const oldest = Math.min(...doubtful);
  const forgotten = around.nativeIdempotency && around.now.getTime() - oldest > around.keyRetentionMs;
  return doubtful.length > 0 && forgotten && found !== 'none' ? { verdict: 'key_retention_passed' } : undefined;
}

function standing(item: ItemFacts, { submitted_at: known }: ReplayFacts, { now, held }: Around): Verdict {
  const submittedAt = item.submittedAt?.getTime() ?? (known === undefined ? now.getTime() : Date.parse(known));
  const ageMs = now.getTime() - submittedAt;
  if (ageMs > item.maxAgeMs) return { verdict: 'expired_beyond_max_age' };
  return held ? { verdict: 'destination_held' } : { verdict: 'eligible' };
}

/** The requests that are pinned, as one word for the frozen list; undefined where none is. */
export function requestHashOf({ operations }: Pick<ReplayFacts, 'operations'>): string | undefined {
  const pinned = operations.filter(({ request_hash }) => request_hash !== undefined);
  return pinned.length === 0 ? undefined : pinned.map(({ kind, request_hash }) => `${kind}=${request_hash}`).join(' ');
}

/** The newest mapping that a request of the delivery was made by; undefined where none was. */
export function mappingVersionOf({ operations }: Pick<ReplayFacts, 'operations'>): number | undefined {
  const versions = operations.flatMap(({ mapping_version }) => mapping_version ?? []);
  return versions.length === 0 ? undefined : Math.max(...versions);
}
