/** What a window of deliveries is read by, oldest submission first, a page at a time. */
export const windowDdl = 'CREATE INDEX delivery_submitted ON delivery (destination, submitted_at, event_id);';

/** Takes back {@link windowDdl}. */
export const windowDdlDown = 'DROP INDEX delivery_submitted;';
