import { z } from 'zod';

const onOff = z.union([z.boolean(), z.enum(['on', 'off']).transform((value) => value === 'on')]);

/**
 * The body of `POST /control`. Which requests: `operation`, `external_id`, `campaign`, of those each `every`-th, and only the next `times` of these.
 * What happens: the fault fields, and the switches `idempotency`, `contactUpsert`, `uniqueLeads`, `searchLagMs`.
 * @param operations names a rule of this witness may carry, e.g. contact, lead, lookup
 */
export function ruleSchema(operations: readonly [string, ...string[]]) {
  return z.strictObject({
    /** What its uses are counted under: `GET /control/hits`. */
    name: z.string().min(1).max(64).optional(),
    operation: z.enum(operations).optional(),
    external_id: z.string().min(1).optional(),
    /** Only leads of this campaign: known before the lead has its event id. */
    campaign: z.string().min(1).optional(),
    times: z.int().positive().optional(),
    /** 2: the second, the fourth and so on of the requests that it fits; for the others the rule is not there. Switches hold for all. */
    every: z.int().positive().optional(),
    /** The answer is held back this long; the commit happens at arrival. */
    latencyMs: z.int().nonnegative().max(3_600_000).optional(),
    /** 400 and above refuse without a commit, unless `dropCommit: false` says that the work was done all the same. */
    status: z.int().min(200).max(599).optional(),
    /** Text is sent as it is, anything else as JSON. */
    body: z.json().optional(),
    headers: z.record(z.string(), z.string()).optional(),
    /** The connection is torn down with a TCP reset before or after the commit. */
    reset: z.enum(['before', 'after']).optional(),
    /** Committed (unless `dropCommit`), never answered. */
    hang: z.boolean().optional(),
    /** Answers as if the work had been done, and does nothing. */
    dropCommit: z.boolean().optional(),
    idempotency: onOff.optional(),
    contactUpsert: onOff.optional(),
    /** A lead whose external id is known is refused with 409 and the id of the record that is there. */
    uniqueLeads: onOff.optional(),
    /** Lookups do not see what is younger than this. */
    searchLagMs: z.int().nonnegative().optional(),
  });
}

export type Rule = z.infer<ReturnType<typeof ruleSchema>>;

export interface Switches {
  idempotency: boolean;
  contactUpsert: boolean;
  uniqueLeads: boolean;
  searchLagMs: number;
}

const selectors = ['name', 'operation', 'external_id', 'campaign', 'times', 'every'] as const;
const switches = ['idempotency', 'contactUpsert', 'uniqueLeads', 'searchLagMs'] as const;

/** True for a rule that flips switches only: it takes no part in choosing what happens to a request. */
export function isSwitchOnly(rule: Rule): boolean {
  const effects = Object.keys(rule).filter((name) => !(selectors as readonly string[]).includes(name));
  return effects.length > 0 && effects.every((name) => (switches as readonly string[]).includes(name));
}
