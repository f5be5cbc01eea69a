import type { Discrepancy } from '../../api/types.js';
import { plain } from '../../parts/words.js';

export const classWords: Readonly<Record<Discrepancy['class'], string>> = {
  missing: 'Missing there',
  deleted: 'Deleted there',
  duplicate: 'There twice',
  content_conflict: 'Says something else',
  late: 'There, though it was given up',
  orphan: 'There, and never accepted here',
  possible_manual_twin: 'Perhaps typed in by hand',
  told_nobody: 'Nobody was told',
  relationship: 'Hangs on the wrong thing',
  dead_end: 'Dead end',
};

const aspectWords: Readonly<Record<NonNullable<Discrepancy['aspect']>, string>> = {
  value: 'a field has another value',
  status: 'its status cannot follow ours',
  version: 'an older version than ours',
  human_change: 'a person changed it there',
  delivered_without_reference: 'delivered, without its reference',
  succeeded_without_attempt: 'succeeded, without an attempt that shows it',
  assigned_without_owner: 'assigned, without an owner there',
  wrong_contact: 'belongs to another contact',
  told_late: 'told only minutes or hours after its end',
  without_letter: 'ended, without a dead letter',
  letter_without_state: 'a dead letter, without the state that it tells of',
};

export const repairWords: Readonly<Record<NonNullable<Discrepancy['repair']>, string>> = {
  create: 'can be made anew',
  update: 'can be written as we know it',
  tell: 'can be told now',
};

/** What differs, in the narrowest words there are for it. */
export const aspectOf = ({ aspect, fields }: Pick<Discrepancy, 'aspect' | 'fields'>): string =>
  [aspect === undefined ? '' : aspectWords[aspect], fields.map(plain).join(', ')].filter(Boolean).join(': ');

type Judged = Pick<Discrepancy, 'state' | 'repair' | 'batch_id'>;

/** Why a batch cannot repair it; undefined where one can. */
export function whyNoRepair({ state, repair }: Judged): string | undefined {
  if (repair === undefined) return 'A person decides about it at the destination: see its next step';
  if (state === 'repairing') return 'A batch repairs it already';
  if (state === 'open' || state === 'repair_failed') return undefined;
  return `It is ${plain(state)}`;
}

/** Why it cannot be accepted as it is; undefined where it can. */
export function whyNoAccept({ state }: Pick<Judged, 'state'>): string | undefined {
  if (state === 'repairing') return 'A batch repairs it: wait for its end, or stop it';
  return state === 'open' || state === 'repair_failed' ? undefined : `It is ${plain(state)}`;
}

/** Why nothing can be done with all of these; undefined where something can. `which`: the reason of one. */
export function whyNotAll<T>(chosen: readonly T[], which: (one: T) => string | undefined): string | undefined {
  if (chosen.length === 0) return 'Tick some rows first (x ticks the row you are on)';
  const refused = chosen.filter((one) => which(one) !== undefined);
  const [first] = refused;
  if (first === undefined) return undefined;
  const why = which(first) ?? '';
  return chosen.length === 1 ? why : `${refused.length} of ${chosen.length} ticked: ${why}`;
}
