import type { Database } from '#runtime';

export const manyDestinations = ['crm', 'marketing', 'erp', 'newsletter', 'support', 'archive'];
export const manyClasses = [
  'attempts_exhausted',
  'deadline_exceeded',
  'permanent',
  'unverified_write',
  'invalid',
  'auth',
  'decode',
  'protected_field',
  'oversize',
  'unknown_owner',
  'conflict',
  'routing',
];
const manySchemaIds = [3, 7, 11];

/** Number of a place that falls off as 1/n, for a column of evenly spread numbers below 1. */
const zipf = (places: number): string => {
  const total = Array.from({ length: places }, (_, n) => 1 / (n + 1)).reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  const bounds = Array.from({ length: places - 1 }, (_, n) => {
    sum += 1 / (n + 1) / total;
    return sum.toFixed(9);
  });
  return `'{${bounds.join(',')}}'::float8[]`;
};

/**
 * Dead letters as after a bad week, made by the database itself in chunks: destinations, classes and schema ids fall off as 1/n, each letter
 * with a record and a history as large as real ones. The spread is the same each time.
 */
const sql = `
INSERT INTO dead_letter (dead_letter_id, identity, state, service, event_id, destination, lead_ref, organization, source, form, campaign,
  submission_ref, policy, test, operation_key, operation_kind, endpoint, class, code, status, attempts, provider_request_id, traceparent,
  submitted_at, first_seen_at, deadline_at, dead_at, received_at, checked_at, owner, disposition, respond_by, delete_after, operations, history,
  found_by, topic, partition, record_offset, record_key, event, schema_id)
SELECT gen_random_uuid(), 'many:' || n, CASE WHEN n % 50 = 0 THEN 'closed' ELSE 'open' END, 'crm-writer', gen_random_uuid(), destination, 'L-' || n,
  CASE WHEN n % 10 = 0 THEN 'other' ELSE 'demo' END, 'website', 'contact', 'autumn', 'v1:' || n, 'default', false,
  n || ':' || destination || ':lead', 'lead', 'https://crm.example.test/api', class, code, 503, 4, 'req-' || n,
  '00-' || md5(n::text) || '-b7ad6b7169203331-01', dead_at - interval '5 minutes', dead_at - interval '5 minutes', dead_at + interval '4 hours', dead_at,
  clock_now(), clock_now(), 'integration', 'investigate', dead_at + interval '2 hours', dead_at + interval '40 days',
  jsonb_build_array(jsonb_build_object('operation_key', n || ':' || destination || ':lead', 'kind', 'lead', 'state', 'dead', 'attempts', 4)),
  (SELECT jsonb_agg(jsonb_build_object('operation_key', n || ':' || destination || ':lead', 'attempt_id', md5(n || 'a' || a)::uuid, 'number', a,
    'outcome', 'transient', 'code', 'http_503', 'status', 503, 'duration_ms', 120, 'trace_id', md5(n || 't' || a), 'started_at', dead_at))
    FROM generate_series(1, 4) a),
  'topic', 'lead.accepted.crm-writer.crm.dlq', n % 6, n, decode(md5(n::text), 'hex'), decode(repeat(md5(n::text), 12), 'hex'), schema_id
FROM (
  SELECT n, ($3::text[])[1 + width_bucket(r1, ${zipf(6)})] AS destination, ($4::text[])[1 + width_bucket(r2, ${zipf(12)})] AS class,
    ($5::int[])[1 + width_bucket(r3, ${zipf(3)})] AS schema_id, CASE WHEN n % 4 = 0 THEN NULL ELSE 'http_503' END AS code,
    clock_now() - r4 * interval '7 days' AS dead_at
  FROM (SELECT n, (hashint4extended(n, 1) & 1048575) / 1048576.0::float8 AS r1, (hashint4extended(n, 2) & 1048575) / 1048576.0::float8 AS r2,
      (hashint4extended(n, 3) & 1048575) / 1048576.0::float8 AS r3, (hashint4extended(n, 4) & 1048575) / 1048576.0::float8 AS r4
    FROM generate_series($1::int, $2::int) n) drawn
) spread`;

const chunk = 2_000;

/** Stores `count` dead letters; every 50th is closed, every 10th is of the organization `other`. */
export async function storeMany(db: Pick<Database, 'sql'>, count: number, from = 1): Promise<void> {
  for (let n = from; n < from + count; n += chunk) {
    const last = Math.min(n + chunk, from + count) - 1;
    await db.sql('spec.many_letters', sql, [n, last, manyDestinations, manyClasses, manySchemaIds]);
  }
}
