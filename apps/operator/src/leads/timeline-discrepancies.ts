import type { Discrepancy, DiscrepancyAspect, DiscrepancyClass } from '#delivery';
import type { TimelineEvent } from './timeline-shape.js';

const byClass: Readonly<Record<Exclude<DiscrepancyClass, 'content_conflict' | 'relationship' | 'dead_end'>, string>> = {
  missing: 'is not there, though it was confirmed',
  deleted: 'was deleted there',
  duplicate: 'is there more than once',
  late: 'is there, though we had given it up',
  orphan: 'is there, and we know of no such lead',
  possible_manual_twin: 'may have been typed in by hand',
  told_nobody: 'nobody was told what became of it',
};
const byAspect: Readonly<Record<DiscrepancyAspect, string>> = {
  value: 'says something else than the lead',
  status: 'has a status that it cannot have come to',
  version: 'is older there than it was',
  human_change: 'was changed there by a person',
  delivered_without_reference: 'is there under another reference, or under none',
  succeeded_without_attempt: 'counts as written, and nothing shows that it was',
  assigned_without_owner: 'has lost its owner there',
  wrong_contact: 'hangs on another person there',
  told_late: 'somebody was told what became of it, but late',
  without_letter: 'ended without a dead letter',
  letter_without_state: 'has a dead letter, and has gone on since',
};

/** That something was found to differ at a destination, by which run, and what stands of it now. */
export function foundEvent({ class: kind, aspect, ...found }: Discrepancy): TimelineEvent {
  const words = aspect === undefined ? byClass[kind as keyof typeof byClass] : byAspect[aspect];
  const fields = found.fields.length === 0 ? '' : ` (${found.fields.join(', ')})`;
  return {
    at: found.first_seen_at,
    kind: 'reconciliation',
    title: `Compared with ${found.destination}: ${found.kind ?? 'it'} ${words ?? kind}${fields}`,
    service: 'reconciler',
    destination: found.destination,
    operation_key: found.operation_key,
    ref: found.ref,
    class: kind,
    code: aspect,
    outcome: found.state,
    detail: detailOf(found),
  };
}

function detailOf({ first_run_id, state, by, approver, result, reason }: Omit<Discrepancy, 'class' | 'aspect'>): string {
  const decided = approver ?? by;
  const now = [`${state.replaceAll('_', ' ')}${decided === undefined ? '' : ` by ${decided}`}`, result, reason]
    .filter((part) => part !== undefined && part !== '')
    .join(': ');
  return `run ${first_run_id}; now ${now}`;
}
