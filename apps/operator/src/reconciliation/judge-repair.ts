import type { LookedUp, ReplayFacts } from '#delivery';
import type { Verdict } from '../batches/machine/verdict.js';
import type { RepairPlan, RepairStep } from './repair-plan.js';
import type { DiscrepancyItem } from './shapes.js';

/** What is known of a repair when it is judged. */
export interface RepairFacts {
  plan: RepairPlan;
  /** What keeps it from being sent at all, in words. */
  notReplayable?: string;
  /** A batch or correction that this delivery is in and that has not ended. */
  otherBatch?: string;
  /** Undefined: its owner does not know it. */
  delivery?: ReplayFacts;
  /** The plan's discrepancies as the reconciler has them now. */
  discrepancies: readonly DiscrepancyItem[];
  held: boolean;
  /** `gone`: nothing is kept of the lead any more. */
  payload: 'kept' | 'withdrawn' | 'gone';
  requiresConsent: boolean;
}

/** What the destination was just found to hold. */
export interface Seen {
  /** Undefined: it was not asked. */
  looked?: LookedUp;
  /** Operations whose record somebody else has changed since it was compared. */
  changed: ReadonlySet<string>;
  /** Operations of which nobody can say whether their record has changed since. */
  unread: ReadonlySet<string>;
}

const contactKind = 'contact';

/** Why a repair is not done, by what our rows and the reconciler say: without asking the destination. Undefined: it may be done, as far as they know. Pure. */
export function judgeKnown(facts: RepairFacts): Verdict | undefined {
  if (facts.notReplayable !== undefined) return { verdict: 'not_replayable', detail: facts.notReplayable };
  if (facts.otherBatch !== undefined) return { verdict: 'already_in_batch', detail: facts.otherBatch };
  if (facts.delivery === undefined) return { verdict: 'not_replayable', detail: 'unknown_delivery' };
  return byDiscrepancies(facts) ?? byState(facts.delivery) ?? byPayload(facts) ?? byGeneration(facts.plan, facts.delivery);
}

/** Of what {@link judgeKnown} lets pass: by what the destination holds now. Pure. */
export function judgeSeen({ plan, held }: Pick<RepairFacts, 'plan' | 'held'>, seen: Seen): Verdict {
  for (const step of plan.steps) {
    const verdict = step.repair === 'create' ? missingStill(step, seen) : changeableStill(step, seen);
    if (verdict !== undefined) return verdict;
  }
  return held ? { verdict: 'destination_held' } : { verdict: 'eligible' };
}

function byDiscrepancies({ plan, discrepancies }: RepairFacts): Verdict | undefined {
  for (const step of plan.steps) {
    const now = discrepancies.find(({ discrepancy_id }) => discrepancy_id === step.discrepancy_id);
    if (now === undefined) return { verdict: 'not_needed', detail: 'unknown_discrepancy' };
    if (now.aspect === 'human_change') return { verdict: 'changed_by_person', detail: 'human_change' };
    if (now.state !== 'open' && now.state !== 'repair_failed') return { verdict: 'not_needed', detail: now.state };
    if (now.repair !== step.repair) return { verdict: 'not_needed', detail: 'another_discrepancy' };
    if (step.repair === 'update' && step.kind !== contactKind) return { verdict: 'not_replayable', detail: 'only a person is changed' };
  }
  return undefined;
}

/** What has not been delivered has its dead letter, or is under way. */
function byState({ state }: ReplayFacts): Verdict | undefined {
  switch (state) {
    case 'delivered':
      return undefined;
    case 'erased':
      return { verdict: 'erased' };
    case 'uncertain':
      return { verdict: 'uncertain' };
    case 'discarded':
    case 'dead':
    case 'expired':
      return { verdict: 'not_replayable', detail: state };
    default:
      return { verdict: 'in_flight', detail: state };
  }
}

function byPayload({ payload, requiresConsent }: RepairFacts): Verdict | undefined {
  if (payload === 'gone') return { verdict: 'erased', detail: 'nothing_kept' };
  return payload === 'withdrawn' && requiresConsent ? { verdict: 'consent_withdrawn' } : undefined;
}

function byGeneration(plan: RepairPlan, delivery: ReplayFacts): Verdict | undefined {
  if (delivery.generation !== plan.generation) return { verdict: 'mapping_changed', detail: `generation ${delivery.generation}` };
  const succeeded = (step: RepairStep): boolean =>
    delivery.operations.some(({ operation_key, state }) => operation_key === step.operation_key && state === 'succeeded');
  return plan.steps.every(succeeded) ? undefined : { verdict: 'not_replayable', detail: 'not_succeeded' };
}

/** Made again only where it is proved not to be there: a second record is worse than a missing one. */
export function missingStill(step: Pick<RepairStep, 'operation_key'>, { looked }: Pick<Seen, 'looked'>): Verdict | undefined {
  const answer = looked?.operations.find(({ operation_key }) => operation_key === step.operation_key);
  switch (answer?.result) {
    case 'absent':
      return undefined;
    case 'found':
      return { verdict: 'not_needed', detail: `found ${answer.ref ?? ''}`.trim() };
    case 'several':
      return { verdict: 'not_replayable', detail: 'several_at_destination' };
    default:
      return { verdict: 'uncertain', detail: answer?.code ?? 'not_looked_up' };
  }
}

/** Changed only where it is the record that we know, and nobody else has changed it since. */
function changeableStill(step: RepairStep, { looked, changed, unread }: Seen): Verdict | undefined {
  const answer = looked?.operations.find(({ operation_key }) => operation_key === step.operation_key);
  if (answer?.result === 'several') return { verdict: 'not_replayable', detail: 'several_at_destination' };
  if (answer?.result === 'absent') return { verdict: 'not_replayable', detail: 'gone_at_destination' };
  if (answer?.result === 'found' && step.ref !== undefined && answer.ref !== step.ref) {
    return { verdict: 'not_replayable', detail: `another record ${answer.ref ?? ''}`.trim() };
  }
  if (changed.has(step.operation_key)) return { verdict: 'changed_by_person', detail: 'changed_since' };
  if (unread.has(step.operation_key)) return { verdict: 'uncertain', detail: 'not_read' };
  return answer?.result === 'found' ? undefined : { verdict: 'uncertain', detail: answer?.code ?? 'not_looked_up' };
}
