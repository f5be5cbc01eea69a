/**
 * Additions to the tables of the delivery engine for people who look for a lead.
 *
 * - `delivery.origin`: topic, partition and offset of the record that brought it first, as `topic/partition/offset`.
 * - What an attempt is found by. Its id begins with its time, so that its index grows at one end. References are looked for here and not in
 *   `operation`, whose updates would have to write to that index too.
 */
export const findDdl = `
ALTER TABLE delivery ADD COLUMN origin text;
CREATE INDEX attempt_id ON attempt (attempt_id);
CREATE INDEX attempt_trace ON attempt USING hash (trace_id);
CREATE INDEX attempt_ref ON attempt (destination_ref) WHERE destination_ref IS NOT NULL;
`;

/** Takes back {@link findDdl}. */
export const findDdlDown = 'DROP INDEX attempt_id, attempt_trace, attempt_ref; ALTER TABLE delivery DROP COLUMN origin;';
