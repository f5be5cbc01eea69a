import type { Site, Sql, Tx } from '#runtime';
import { actor } from '../audit/audit.js';
import type { Person } from '../people/person.js';
import { batchRefusals } from './refusals.js';

type Policies = Pick<Site, 'operator'>;

/**
 * It bounds a person, not a batch: fifty, and fifty again a second later, would be no bound. What was stopped before it was sent had no effect.
 * Names that come through another door than a person's own are proved by nobody: all of them are one person there.
 */
const takenSql = `
SELECT count(*)::int AS taken FROM replay_batch b JOIN replay_item i USING (batch_id)
WHERE b.policy = 'single_operator' AND b.deadline_at > (SELECT clock_now()) - interval '1 hour'
  AND b.approved_by = $2 AND ($1::text IS NULL OR b.approver = $1)
  AND (i.state = 'open' OR (i.sent_at IS NOT NULL AND b.approved_at > clock_now() - interval '1 hour'))`;

/** Null: the name is not proved. */
const provedOf = ({ subject, caller }: Person): string | null => (caller === undefined ? subject : null);

async function takenBy(db: Sql, person: Person): Promise<number> {
  const { caller } = actor(person);
  return (await db.sql<{ taken: number }>('operator.taken_alone', takenSql, [provedOf(person), caller]))[0]?.taken ?? 0;
}

/** Items that the person may approve alone now, one at least. Throws the refusals of the policy. */
export async function leftAlone(db: Sql, { operator }: Policies, person: Person): Promise<number> {
  const allowed = operator.policies.singleOperator;
  if (allowed === undefined) throw batchRefusals.policyOff();
  const taken = await takenBy(db, person);
  if (taken >= allowed.max) throw batchRefusals.policyTooLarge(allowed.max, { eligible: 1, taken });
  return allowed.max - taken;
}

/** Throws the refusal where the person would have more than the policy allows. Approvals of one person come one after the other. */
export async function refuseBeyondAlone(
  tx: Tx,
  { operator }: Policies,
  { person, eligible }: { person: Person; eligible: number },
): Promise<void> {
  const max = operator.policies.singleOperator?.max ?? 0;
  await tx.sql('operator.lock_approver', 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `alone ${actor(person).caller} ${provedOf(person)}`,
  ]);
  const taken = await takenBy(tx, person);
  if (eligible + taken > max) throw batchRefusals.policyTooLarge(max, { eligible, taken });
}
