const eventId = (n: number): string => `01a22bc2-cbe3-775c-ab38-00000000000${n}`;

const intake = `
INSERT INTO intake_key SELECT 'demo', 'website', 'ref-' || n, ('01a22bc2-cbe3-775c-ab38-00000000000' || n)::uuid, 'v1:' || n, '2026-11-01 10:00Z'
  FROM generate_series(1, 3) AS n;
INSERT INTO lead SELECT ('01a22bc2-cbe3-775c-ab38-00000000000' || n)::uuid, 'L-' || n, 'demo', 'website', 'contact', NULL, NULL, '2026-11-01 10:00Z',
  '2026-11-01 10:00Z', '2026-11-04 10:00Z', 'default', 'ada', false, '\\x01', '\\x02', NULL, NULL FROM generate_series(1, 3) AS n;
INSERT INTO vault SELECT 'L-' || n, 1, 'k1', '\\x03', '\\x04', '2027-12-06 10:00Z' FROM generate_series(1, 3) AS n;
INSERT INTO delivery (event_id, destination, state, deadline_at, as_of, claimed_at, announcements, announce_at) VALUES
  ('${eventId(1)}', 'crm', 'accepted', '2026-11-04 10:00Z', '2026-11-01 10:00Z', NULL, 1, '2026-11-01 10:05Z'),
  ('${eventId(2)}', 'crm', 'accepted', '2026-11-04 10:00Z', '2026-11-01 10:00Z', NULL, 3, '2026-11-01 10:35Z'),
  ('${eventId(3)}', 'crm', 'accepted', '2026-11-04 10:00Z', '2026-11-01 10:00Z', NULL, 9, '2026-11-02 16:00Z'),
  ('${eventId(3)}', 'marketing', 'delivered', '2026-11-04 10:00Z', '2026-11-01 10:00Z', '2026-11-01 10:00Z', 1, '2026-11-01 10:05Z');
INSERT INTO rejected VALUES ('${eventId(4)}', 'demo', 'website', 'ref-4', 'invalid', 'schema', '[]', NULL, 'leads', 0, 7, '2026-11-01 10:00Z',
  '2026-11-01 10:00Z', 'k1', '\\x05', '\\x06', '2026-12-01 10:00Z');
`;

const deliveries = `
INSERT INTO delivery (event_id, destination, state, submitted_at, deadline_at, claimed_at, updated_at, test, lead_ref, operation_keys, event)
  SELECT ('01a22bc2-cbe3-775c-ab38-00000000000' || n)::uuid, 'crm', (ARRAY['delivered', 'waiting', 'uncertain', 'dead'])[n], '2026-11-01 10:00Z',
    '2026-11-04 10:00Z', '2026-11-01 10:00Z', '2026-11-01 10:00Z', false, 'L-' || n, ARRAY['key-' || n], '\\x02' FROM generate_series(1, 4) AS n;
INSERT INTO operation (operation_key, event_id, destination, kind, state, attempts, updated_at)
  SELECT 'key-' || n, ('01a22bc2-cbe3-775c-ab38-00000000000' || n)::uuid, 'crm', 'lead', 'unknown', n, '2026-11-01 10:00Z' FROM generate_series(1, 4) AS n;
INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome)
  SELECT 'key-' || n, '${eventId(9)}', false, n, '2026-11-01 10:00Z', 'timeout' FROM generate_series(1, 4) AS n;
`;

const records = `
INSERT INTO outbox (topic, key, value) VALUES ('lead.accepted', '\\x01', '\\x02');
INSERT INTO outbox_parked VALUES (7, 'lead.accepted', '\\x01', '\\x02', '{}', '2026-11-01 10:00Z', '2026-11-01 10:00Z', 'too_large');
INSERT INTO schema_id VALUES ('lead.accepted-value', 1, 1, '{}', '2026-11-01 10:00Z');
`;

/** By service: inserts of a few rows into each table that its first migration made. Leads 1 to 3 (and 4 at a destination). */
export const rowsOfBefore = { intake: intake + records, 'crm-writer': deliveries + records, notifier: deliveries + records };
