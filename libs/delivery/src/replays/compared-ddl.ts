/**
 * Addition to the tables of the delivery engine for repairs. `operation.compared`: version and time of the record that the operation changes, as it was
 * compared and approved; it is not written once it is another. Null: nobody bound the operation to that.
 */
export const comparedDdl = 'ALTER TABLE operation ADD COLUMN compared jsonb;';

/** Takes back {@link comparedDdl}. */
export const comparedDdlDown = 'ALTER TABLE operation DROP COLUMN compared;';
