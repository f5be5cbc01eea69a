/**
 * How long calls of destinations took, by the hour: how many fell into each bucket, so that percentiles of any span are a few hundred rows and
 * not a scan of the log of attempts. `phase`: `connect`, `first_byte` or `total`. Kept for two days.
 *
 * `delivery_backlog` finds the oldest lead that waits for a destination. A delivery that is sent at once is never in it.
 */
export const callTimesDdl = `
CREATE TABLE call_time (
  hour timestamptz NOT NULL,
  destination text COLLATE "C" NOT NULL,
  phase text COLLATE "C" NOT NULL,
  bucket smallint NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (hour, destination, phase, bucket)
) WITH (fillfactor = 50);
CREATE INDEX delivery_backlog ON delivery (destination, submitted_at) WHERE state IN ('pending', 'waiting', 'held');
`;

/** Takes back {@link callTimesDdl}. */
export const callTimesDdlDown = 'DROP INDEX delivery_backlog; DROP TABLE call_time;';
