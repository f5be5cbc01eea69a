CREATE SCHEMA IF NOT EXISTS spring_peer;
CREATE TABLE IF NOT EXISTS spring_peer.inbox (
  event_id uuid PRIMARY KEY,
  lead_ref text NOT NULL,
  claimed_at timestamptz NOT NULL DEFAULT now(),
  crm_ref text,
  done_at timestamptz
);
CREATE TABLE IF NOT EXISTS spring_peer.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL,
  key bytea,
  value bytea NOT NULL
);
