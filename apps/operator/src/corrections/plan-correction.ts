import { createHash } from 'node:crypto';
import type { LookedUp, Repair, ReplayFacts, ReplayFactsOperation } from '#delivery';

/** What becomes of an operation of a corrected lead. */
export const steps = ['change', 'keep', 'create'] as const;
export type Step = (typeof steps)[number];

export interface PlannedStep {
  operation_key: string;
  kind: string;
  /** `change`: the destination has it, and it is changed there. `keep`: it has it, and nothing of it changes. `create`: it does not have it. */
  step: Step;
  /** It had not succeeded here: a lookup found it. */
  found: boolean;
  ref?: string;
}

/** Why a lead cannot be corrected at a destination now, each a type of refusal. */
export type Obstacle =
  | 'delivery-not-settled'
  | 'delivery-ended'
  | 'several-at-destination'
  | 'gone-at-destination'
  | 'cannot-look-up'
  | 'cannot-change'
  | 'nothing-to-change'
  | 'lookup-failed';

export type Plan = { ok: true; steps: PlannedStep[] } | { ok: false; obstacle: Obstacle; kind?: string };

const contactKind = 'contact';
const ofContact = ['name', 'email', 'phone'];

/**
 * What is to be done at a destination about the fields that change, from what our rows say and from what a lookup just found there. Nothing is made that
 * may be there already, and no lead is written over: only the record of the person is ever changed. Pure.
 */
export function planCorrection(facts: ReplayFacts, looked: LookedUp | undefined, fields: readonly string[]): Plan {
  const { state } = facts;
  if (state === 'discarded' || state === 'erased') return { ok: false, obstacle: 'delivery-ended' };
  if (state !== 'delivered' && state !== 'dead' && state !== 'expired') return { ok: false, obstacle: 'delivery-not-settled' };
  const hasContact = facts.operations.some(({ kind }) => kind === contactKind);
  const planned: PlannedStep[] = [];
  for (const operation of facts.operations) {
    const { kind } = operation;
    const changes = fields.some((field) => (ofContact.includes(field) ? kind === contactKind || !hasContact : kind !== contactKind));
    const step = stepOf(operation, { looked, changes, canLookUp: facts.lookup.includes(kind) });
    if (typeof step === 'string') return { ok: false, obstacle: step, kind };
    planned.push({ operation_key: operation.operation_key, kind, ...step });
  }
  if (state === 'delivered' && !planned.some(({ step }) => step === 'change')) return { ok: false, obstacle: 'nothing-to-change' };
  return { ok: true, steps: planned };
}

type Known = Pick<PlannedStep, 'step' | 'found' | 'ref'>;

function stepOf(
  { operation_key, kind, state, ref, doubtful_since, unsettled }: ReplayFactsOperation,
  { looked, changes, canLookUp }: { looked: LookedUp | undefined; changes: boolean; canLookUp: boolean },
): Known | Obstacle {
  const answer = canLookUp ? looked?.operations.find((one) => one.operation_key === operation_key) : undefined;
  if (canLookUp && (answer === undefined || answer.result === 'unknown')) return 'lookup-failed';
  if (answer?.result === 'several') return 'several-at-destination';
  const succeeded = state === 'succeeded';
  if (succeeded && answer?.result === 'absent') return 'gone-at-destination';
  if (!succeeded && answer === undefined && doubtful_since !== undefined) return 'cannot-look-up';
  // A search that lags finds nothing yet of a call that went through: making it again would bring a second record.
  if (answer?.result === 'absent' && unsettled) return 'lookup-failed';
  if (!succeeded && answer?.result !== 'found') return { step: 'create', found: false };
  if (changes && kind !== contactKind) return 'cannot-change';
  return { step: changes ? 'change' : 'keep', found: !succeeded, ref: answer?.ref ?? ref };
}

/** What the permit says of these steps. */
export function repairOf(planned: readonly PlannedStep[], generation: number): Repair {
  const named = (wanted: (step: PlannedStep) => boolean) =>
    planned.filter(wanted).map(({ operation_key: operationKey, ref }) => ({ operationKey, ...(ref !== undefined && { ref }) }));
  return {
    generation,
    renew: named(({ step }) => step === 'change'),
    adopt: named(({ step, found }) => step === 'keep' && found),
  };
}

export interface HashedCorrection {
  correction_id: string;
  event_id: string;
  destination: string;
  revision: number;
  generation: number;
  fields: readonly string[];
}

/** What an approval is bound to: which lead, which revision of it, and what becomes of each operation. */
export function correctionHash(correction: HashedCorrection, planned: readonly PlannedStep[]): string {
  const { correction_id, event_id, destination, revision, generation, fields } = correction;
  const lines = planned.map(({ operation_key, step, found, ref }) => [operation_key, step, found, ref ?? null]);
  const text = JSON.stringify(['correction v1', correction_id, event_id, destination, revision, generation, [...fields].sort(), lines]);
  return createHash('sha256').update(text).digest('hex');
}
