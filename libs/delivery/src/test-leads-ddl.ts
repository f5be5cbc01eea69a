/**
 * What is unresolved of test leads, of which there are few: where all unresolved deliveries are counted in their index alone, these are taken
 * off by this one, and no row is read for that.
 */
export const testLeadsDdl = `
CREATE INDEX delivery_unresolved_test ON delivery (destination, state) WHERE test AND state IN ('uncertain', 'held', 'dead', 'expired');
`;

/** Takes back {@link testLeadsDdl}. */
export const testLeadsDdlDown = 'DROP INDEX delivery_unresolved_test;';
