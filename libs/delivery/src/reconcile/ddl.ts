/**
 * `written_at`: when the last success that wrote the person's record was recorded; null where nobody knows. `updated_at` is no such time: a
 * failed attempt moves it too.
 */
export const contactWrittenDdl = 'ALTER TABLE contact_state ADD COLUMN written_at timestamptz;';

/** Takes back {@link contactWrittenDdl}. */
export const contactWrittenDdlDown = 'ALTER TABLE contact_state DROP COLUMN written_at;';

/** Over this after their submission deliveries end late. Few do; a window needs them by when they ended. */
export const lateAfter = `interval '1 minute'`;

/** What a window of deliveries is read by, oldest submission first, a page at a time; and what a comparison goes by of a person's record. */
export const windowDdl = `CREATE INDEX delivery_submitted ON delivery (destination, submitted_at, event_id);
CREATE INDEX delivery_late ON delivery (destination, submitted_at, event_id, updated_at) WHERE updated_at - submitted_at > ${lateAfter};
${contactWrittenDdl}`;

/** Takes back {@link windowDdl}. */
export const windowDdlDown = `${contactWrittenDdlDown}
DROP INDEX delivery_late, delivery_submitted;`;
