import type { FailureClass } from '#contracts';

/** Code of a write that the destination said was done without naming the record, which something needs. It is looked up, and never done again. */
export const noReference = 'no_reference';

interface Answer {
  /** HTTP status of the answer, when there was one. */
  status?: number;
  /** The destination's own id of the request, kept with the attempt for its support desk. */
  providerRequestId?: string;
  /** What the destination asked to wait, in milliseconds. */
  afterMs?: number;
  /** Keyed hash of the request as it was sent, pinned by the first recorded call. */
  requestHash?: string;
  /** Version of the mapping that made the request, pinned with it. */
  mappingVersion?: number;
  /** Something of ours kept it back and no call was made: says nothing about the destination, and spends no attempt. */
  notCalled?: true;
}

interface Succeeded extends Answer {
  kind: 'succeeded';
  /** The destination's id of the record. */
  ref?: string;
}

/** Refused for now because of how much is being asked. Documented as not executed. */
interface Throttled extends Answer {
  kind: 'throttled';
  code: string;
}

interface Transient extends Answer {
  kind: 'transient';
  code: string;
  /** The request never reached the application: no name, refused, TLS, connect timeout. */
  provablyNotExecuted: boolean;
  /** The person's record that was to be changed is not there any more: the next attempt makes a new one. */
  gone?: true;
}

/** It may have happened: no answer, or one that does not tell. */
interface Uncertain extends Answer {
  kind: 'uncertain';
  code: string;
  /** It was answered, only not with the record's id, which has to be looked up: says nothing against the destination. */
  answered?: true;
}

/** The destination refuses our credentials or our rights: of all leads, or of this one alone (its own check call tells). */
interface Auth extends Answer {
  kind: 'auth';
  code: string;
}

/** The destination holds this very operation already, under `ref`. */
interface Duplicate extends Answer {
  kind: 'duplicate';
  ref: string;
}

interface Permanent extends Answer {
  kind: 'permanent';
  code: string;
  class: FailureClass;
}

/** The personal data is gone; there is nothing to send any more. */
interface Erased extends Answer {
  kind: 'erased';
}

/**
 * What one call to a destination came to. Built by connectors and channels. `code` is a short word of the destination or of ours
 * (`timeout`, `http_503`): never free text, never personal data.
 */
export type Outcome = Succeeded | Duplicate | Throttled | Transient | Uncertain | Permanent | Auth | Erased;

/** Somebody has written the record since it was compared: what was approved would write over that. */
export const changedByPerson: Outcome = { kind: 'permanent', class: 'conflict', code: 'changed_by_person' };

/**
 * What a lookup by operation came to. `several` is never resolved by taking the first. `unknown`: it says nothing; `throttled` with it: it was
 * refused because of how much is asked, and the destination asked to wait `afterMs`.
 */
export type LookupResult =
  | { kind: 'absent' }
  | { kind: 'found'; ref: string }
  | { kind: 'several'; refs: string[] }
  | { kind: 'unknown'; code: string; throttled?: { afterMs?: number } };

export type OutcomeKind = Outcome['kind'];
