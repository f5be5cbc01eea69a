import type { FailureClass } from '#contracts';

interface Answered {
  /** HTTP status of the answer, when there was one. */
  status?: number;
  /** The destination's own id of the request, kept with the attempt for its support desk. */
  providerRequestId?: string;
  /** Keyed hash of the request as it was sent, pinned by the first recorded call. */
  requestHash?: string;
  /** Version of the mapping that made the request, pinned with it. */
  mappingVersion?: number;
}

/**
 * What one call to a destination came to. Built by connectors and channels, judged by {@link decide}.
 * `code` is a short word of the destination or of ours (`timeout`, `http_503`): never free text, never personal data.
 */
export type Outcome = Answered &
  (
    | { kind: 'succeeded' /** The destination's id of the record. */; ref?: string }
    | { kind: 'throttled'; code: string /** What the destination asked to wait, in milliseconds. */; afterMs?: number }
    | {
        kind: 'transient';
        code: string /** DNS, refused, TLS, connect timeout: the request never reached the application. */;
        provablyNotExecuted: boolean;
      }
    | { kind: 'uncertain'; code: string }
    | { kind: 'permanent'; code: string; class: FailureClass }
    | { kind: 'erased' }
  );

export type OutcomeKind = Outcome['kind'];
