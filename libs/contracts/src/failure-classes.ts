/** Why a delivery or a submission ended without its effect. Each class has an owner who acts on it. */
export const failureClasses = [
  'decode',
  'invalid',
  'unknown_source',
  'conflict',
  'routing',
  'unknown_owner',
  'permanent',
  'attempts_exhausted',
  'deadline_exceeded',
  'auth',
  'protected_field',
  'unverified_write',
  'oversize',
] as const;
export type FailureClass = (typeof failureClasses)[number];

/** Roles, not people: who fills them is each installation's own. */
export const failureOwners = ['integration', 'operations', 'sales_operations', 'source'] as const;
/**
 * - `integration`: looks after the connection to a destination (mapping, credentials, limits)
 * - `operations`: runs this product and its site file
 * - `sales_operations`: looks after leads, owners and campaigns
 * - `source`: whoever sends the leads
 */
export type FailureOwner = (typeof failureOwners)[number];

export const dispositions = ['investigate', 'approve_replay', 'discard'] as const;
/** What is usually done: find out first, replay once the cause is gone, or let it be. */
export type Disposition = (typeof dispositions)[number];

/** What follows from a failure class for whoever has to act. */
export interface FailurePolicy {
  owner: FailureOwner;
  /** Until somebody has looked, in milliseconds from the time it ended. */
  respondWithinMs: number;
  disposition: Disposition;
  /** Until the dead letter is deleted once it is closed, in milliseconds from the time it ended. */
  deleteAfterMs: number;
  /** Page for whoever is on duty, from the root of the repository. */
  runbook: string;
  /** One sentence: what to do next. */
  nextAction: string;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
/** As long as the owning service keeps its own rows. */
const withDelivery = 40 * day;
/** As long as intake keeps the sealed original. */
const withOriginal = 90 * day;

export const failurePolicies: Readonly<Record<FailureClass, FailurePolicy>> = {
  decode: {
    owner: 'integration',
    respondWithinMs: 4 * hour,
    disposition: 'investigate',
    deleteAfterMs: withOriginal,
    runbook: 'docs/runbooks/decode.md',
    nextAction: 'Find the producer of the record and have it use the registered schema; it then sends the lead again.',
  },
  invalid: {
    owner: 'source',
    respondWithinMs: 4 * hour,
    disposition: 'investigate',
    deleteAfterMs: withOriginal,
    runbook: 'docs/runbooks/invalid.md',
    nextAction: 'Have the source correct the named fields and send the lead again under the same id.',
  },
  unknown_source: {
    owner: 'operations',
    respondWithinMs: 4 * hour,
    disposition: 'investigate',
    deleteAfterMs: withOriginal,
    runbook: 'docs/runbooks/unknown-source.md',
    nextAction: 'Add the source to the site file, or stop whoever sends under a name that is not theirs.',
  },
  conflict: {
    owner: 'source',
    respondWithinMs: 8 * hour,
    disposition: 'discard',
    deleteAfterMs: withOriginal,
    runbook: 'docs/runbooks/conflict.md',
    nextAction: 'Have the source mint a new id for the change and name the old one; then discard this one.',
  },
  routing: {
    owner: 'operations',
    respondWithinMs: hour,
    disposition: 'investigate',
    deleteAfterMs: withDelivery,
    runbook: 'docs/runbooks/routing.md',
    nextAction: 'Add a routing rule for the form, and give the lead to its owner by hand meanwhile.',
  },
  unknown_owner: {
    owner: 'sales_operations',
    respondWithinMs: hour,
    disposition: 'investigate',
    deleteAfterMs: withDelivery,
    runbook: 'docs/runbooks/unknown-owner.md',
    nextAction: 'Tell the right person; then add the owner to the site file.',
  },
  permanent: {
    owner: 'integration',
    respondWithinMs: 2 * hour,
    disposition: 'investigate',
    deleteAfterMs: withDelivery,
    runbook: 'docs/runbooks/permanent.md',
    nextAction: 'Read the destination’s code, correct the mapping or the lead, then approve a replay.',
  },
  attempts_exhausted: {
    owner: 'integration',
    respondWithinMs: hour,
    disposition: 'approve_replay',
    deleteAfterMs: withDelivery,
    runbook: 'docs/runbooks/attempts-exhausted.md',
    nextAction: 'Make sure that the destination answers again, then approve a replay.',
  },
  deadline_exceeded: {
    owner: 'operations',
    respondWithinMs: hour,
    disposition: 'approve_replay',
    deleteAfterMs: withDelivery,
    runbook: 'docs/runbooks/deadline-exceeded.md',
    nextAction: 'Find out what held it up, ask sales whether it is still of use, then approve a replay with a new deadline.',
  },
  auth: {
    owner: 'integration',
    respondWithinMs: 30 * minute,
    disposition: 'approve_replay',
    deleteAfterMs: withDelivery,
    runbook: 'docs/runbooks/auth.md',
    nextAction: 'Correct the permission that this lead lacks at the destination, then approve a replay.',
  },
  protected_field: {
    owner: 'integration',
    respondWithinMs: 8 * hour,
    disposition: 'investigate',
    deleteAfterMs: withDelivery,
    runbook: 'docs/runbooks/protected-field.md',
    nextAction: 'Decide who owns the field; take it out of the mapping or out of the protected ones, then approve a replay.',
  },
  unverified_write: {
    owner: 'integration',
    respondWithinMs: 30 * minute,
    disposition: 'investigate',
    deleteAfterMs: withDelivery,
    runbook: 'docs/runbooks/unverified-write.md',
    nextAction: 'Look at the destination for the lead’s reference and record what you found; never send it again unseen.',
  },
  oversize: {
    owner: 'integration',
    respondWithinMs: 4 * hour,
    disposition: 'investigate',
    deleteAfterMs: withDelivery,
    runbook: 'docs/runbooks/oversize.md',
    nextAction: 'Find out which part is too large; have the source shorten it, or raise the limit on both sides.',
  },
};
