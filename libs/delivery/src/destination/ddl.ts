/**
 * What all processes of a service share about one destination. All times are the database's.
 *
 * - `mode` is `flowing` (slowly at first, from `ramp_at` on) or `blocked` (because of `reason`, probed from `open_until` on, for the
 *   `cool_downs`th time in a row). A hold stands beside it: a person holds, and a person releases.
 * - `version` counts the transitions; each is a compare-and-set on it.
 * - `probe_token`, `probe_by` and `probe_until` are the lease to probe; `probes` those of this cool-down, `answered` how many in a row were
 *   answered, `probe_leads` the last leads that were used, by event id.
 * - `quota_tokens` are as of `quota_at`; negative: calls that could not wait took them in advance.
 */
export const destinationDdl = `
CREATE TABLE IF NOT EXISTS destination_state (
  destination text COLLATE "C" PRIMARY KEY,
  version integer NOT NULL DEFAULT 1,
  mode text NOT NULL DEFAULT 'flowing',
  reason text,
  changed_at timestamptz NOT NULL,
  open_until timestamptz,
  cool_downs integer NOT NULL DEFAULT 0,
  ramp_at timestamptz,
  probe_token uuid,
  probe_by text,
  probe_until timestamptz,
  probes smallint NOT NULL DEFAULT 0,
  answered smallint NOT NULL DEFAULT 0,
  probe_leads text[] NOT NULL DEFAULT '{}',
  hold_by text,
  hold_reason text,
  hold_at timestamptz,
  quota_tokens float8,
  quota_at timestamptz
) WITH (fillfactor = 50);
`;
