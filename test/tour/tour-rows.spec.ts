import { describe, expect, it } from '@jest/globals';
import { failureClasses } from '#contracts';
import { rowIds, rowOfClass } from './row-ids.js';
import { tourRows } from './rows/index.js';

/** Copied by hand from the requirements: every noun of the test matrix, and the rows that show it. */
const matrix: Record<string, readonly string[]> = {
  valid: ['valid'],
  duplicate: ['duplicate'],
  invalid: ['invalid'],
  'temporary failure': ['temporary-failure'],
  'timeout after acceptance': ['timeout-after-acceptance'],
  'exhausted retries': ['exhausted-retries'],
  recovery: ['recovery'],
  'slow response': ['slow-response'],
  'connect failure': ['connect-failure'],
  // A name that is resolved late, and in time or not, is shown for one call alone (`late-names.spec.ts`): the resolver of a running instance cannot be slowed.
  'DNS delay': ['dns-failure'],
  'TLS delay': ['tls-delay'],
  'dropped connection': ['dropped-connection'],
  '4xx': ['4xx'],
  '5xx': ['5xx'],
  'rate limit': ['rate-limit'],
  'auth failure': ['auth-failure'],
  'malformed payload': ['malformed-payload'],
  'worker crash': ['worker-crash'],
  'lease expiry': ['lease-expiry'],
  'late response after the client gave up': ['late-response'],
  'concurrent duplicates': ['concurrent-duplicates'],
  'crash after the CRM write and before the acknowledgement': ['crash-after-write'],
  'invalid event not retried for ever': ['invalid-event-not-retried'],
  'one event replayed from the DLQ without a second effect': ['replay-once'],
  'duplicate replay': ['duplicate-replay'],
  'reconciliation over a control period': ['reconciliation'],
};

/** Beyond the matrix: failures that are ours to survive, and the classes that no noun of it covers. */
const beyond = [
  '200-without-commit',
  'lost-wake-up',
  'conflict',
  'unknown-source',
  'routing',
  'unknown-owner',
  'protected-field',
  'unverified-write',
];

describe('the rows of the failure tour', () => {
  it('are those of the test matrix and the ones beyond it, no more and no fewer', () => {
    expect([...rowIds].sort()).toEqual([...Object.values(matrix).flat(), ...beyond].sort());
  });

  it('are all written, each once, in the order of the list', () => {
    expect(tourRows().map(({ id }) => id)).toEqual([...rowIds]);
  });

  it('each say what is done and expect at least one fact', () => {
    for (const { fault, expected } of tourRows()) {
      expect(fault).not.toBe('');
      expect(Object.keys(expected)).not.toHaveLength(0);
    }
  });

  it('show every failure class', () => {
    expect(Object.keys(rowOfClass).sort()).toEqual([...failureClasses].sort());
    for (const row of Object.values(rowOfClass)) expect(rowIds).toContain(row);
  });
});
