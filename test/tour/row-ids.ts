import type { FailureClass } from '#contracts';

/** Every row of the failure tour, in the order in which it is shown: one per failure that lead delivery says it survives. */
export const rowIds = [
  'valid',
  'duplicate',
  'concurrent-duplicates',
  'conflict',
  'invalid',
  'malformed-payload',
  'unknown-source',
  'routing',
  'unknown-owner',
  'temporary-failure',
  'exhausted-retries',
  'slow-response',
  'timeout-after-acceptance',
  'late-response',
  'dropped-connection',
  '4xx',
  '5xx',
  '200-without-commit',
  'protected-field',
  'unverified-write',
  'invalid-event-not-retried',
  'connect-failure',
  'dns-failure',
  'tls-delay',
  'rate-limit',
  'auth-failure',
  'recovery',
  'worker-crash',
  'crash-after-write',
  'lost-wake-up',
  'lease-expiry',
  'replay-once',
  'duplicate-replay',
  'reconciliation',
] as const;

export type RowId = (typeof rowIds)[number];

/** The row in which each failure class is seen. */
export const rowOfClass: Readonly<Record<FailureClass, RowId>> = {
  decode: 'malformed-payload',
  invalid: 'invalid',
  unknown_source: 'unknown-source',
  conflict: 'conflict',
  routing: 'routing',
  unknown_owner: 'unknown-owner',
  permanent: '4xx',
  attempts_exhausted: 'exhausted-retries',
  deadline_exceeded: 'dns-failure',
  auth: '4xx',
  protected_field: 'protected-field',
  unverified_write: 'unverified-write',
  oversize: '4xx',
};
