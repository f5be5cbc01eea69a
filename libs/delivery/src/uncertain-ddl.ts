/**
 * When an uncertain row of one destination is due. Spelled otherwise than in `delivery_uncertain`, the index over all destinations, on
 * purpose: that one has the same order, and where the planner took it for a single destination it read the rows of all others and threw them
 * away.
 */
export const dueAtOne = `coalesce(lease_until, coalesce(next_attempt_at, '-infinity'))`;

/**
 * What is uncertain at one destination, longest due first: a lookup is taken for as many rows as the destination has room for, each second,
 * and a thousand uncertain rows of another cost it nothing.
 */
export const uncertainDdl = `
CREATE INDEX delivery_uncertain_at ON delivery (destination, (${dueAtOne})) WHERE state = 'uncertain';
`;

/** Takes back {@link uncertainDdl}. */
export const uncertainDdlDown = 'DROP INDEX delivery_uncertain_at;';
