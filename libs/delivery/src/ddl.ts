/**
 * Tables of the delivery engine, for a service's own schema (which has `clock_now()`).
 *
 * - `delivery` is the inbox and the unit of lease, wake-up and replay. The lease is (attempt_id, lease_until); whoever's attempt id stands
 *   here may record. A `pending` row with next_attempt_at ahead is reserved by a process that keeps it in memory while it is paused.
 * - `operation` hangs under it by `operation_keys`, in declared order. `sending_at` stands where a request may have left whose
 *   end nobody knows; younger than `updated_at` it is the mark of the claim that holds the row.
 * - `attempt` is only ever appended to. `late`: the answer came after the lease was lost.
 *
 * No foreign keys: each costs a lookup per row, and the rows are written together by one statement. Operation keys compare by bytes.
 */
export const deliveryDdl = `
CREATE TABLE delivery (
  event_id uuid NOT NULL,
  destination text NOT NULL,
  state text NOT NULL,
  attempt_id uuid,
  lease_until timestamptz,
  next_attempt_at timestamptz,
  woken_at timestamptz,
  claims integer NOT NULL DEFAULT 1,
  generation integer NOT NULL DEFAULT 1,
  submitted_at timestamptz NOT NULL,
  deadline_at timestamptz NOT NULL,
  claimed_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  test boolean NOT NULL,
  class text,
  code text,
  lead_ref text NOT NULL,
  operation_keys text[] NOT NULL,
  traceparent text,
  tracestate text,
  last_traceparent text,
  record_key bytea,
  event bytea NOT NULL,
  PRIMARY KEY (event_id, destination)
);
CREATE INDEX delivery_open ON delivery ((coalesce(lease_until, next_attempt_at))) WHERE state IN ('in_flight', 'pending', 'waiting');
CREATE INDEX delivery_unresolved ON delivery (destination, state) WHERE state IN ('uncertain', 'held', 'dead', 'expired');
CREATE TABLE operation (
  operation_key text COLLATE "C" PRIMARY KEY,
  event_id uuid NOT NULL,
  destination text NOT NULL,
  kind text NOT NULL,
  state text NOT NULL,
  attempt_id uuid,
  sending_at timestamptz,
  attempts integer NOT NULL DEFAULT 0,
  mapping_version integer,
  request_hash text,
  destination_ref text,
  class text,
  code text,
  updated_at timestamptz NOT NULL
);
CREATE TABLE attempt (
  operation_key text COLLATE "C" NOT NULL,
  attempt_id uuid NOT NULL,
  late boolean NOT NULL,
  number integer NOT NULL,
  started_at timestamptz NOT NULL,
  duration_ms integer,
  outcome text NOT NULL,
  class text,
  code text,
  status smallint,
  provider_request_id text,
  destination_ref text,
  trace_id text,
  span_id text,
  PRIMARY KEY (operation_key, attempt_id, outcome)
);
`;

/**
 * Planner settings of connections that run the engine's statements. Each is planned anew with its own array sizes and the tables' size of
 * that moment: a plan kept from when the table was empty would scan all of it later. Index reads are not dear: the hot end is in memory.
 */
export const deliveryDatabaseSettings = { plan_cache_mode: 'force_custom_plan', random_page_cost: 1.1 } as const;
