import type { WindowItem, WindowOperation } from '#delivery';
import { about, type Seen } from './compare-operation.js';
import type { Finding } from './finding.js';
import type { Rules } from './rules.js';

export interface Absence {
  item: WindowItem;
  operation: WindowOperation;
  seen?: Seen;
  /** When an earlier comparison missed it first, in epoch milliseconds. */
  missedSinceMs?: number;
}

/** `hidden`: its search may not show it yet, so that absence says nothing. `unconfirmed`: it is missed for the first time. */
export type AbsenceVerdict = { kind: 'hidden' | 'unconfirmed' } | { kind: 'finding'; finding: Finding };

/**
 * What it means that a record is not there. One that was seen there is gone; one that never was is missing only where two looks, a search lag
 * apart, did not find it. Pure. @param nowMs by the clock that also recorded the write
 */
export function judgeAbsence({ item, operation, seen, missedSinceMs }: Absence, rules: Rules, nowMs: number): AbsenceVerdict {
  const { searchLagMs, maxExecutionMs } = rules;
  const base = { ...about(item, operation), ref: operation.ref, repair: 'create' as const };
  const evidence = { recorded_at: operation.recorded_at, generation: operation.generation };
  // What was shown once is hidden by no lag.
  const wasSeen = operation.seen_there || (seen !== undefined && seen.ref === operation.ref);
  if (wasSeen) return { kind: 'finding', finding: { ...base, class: 'deleted', evidence } };
  if (nowMs < Date.parse(operation.recorded_at) + maxExecutionMs + searchLagMs) return { kind: 'hidden' };
  if (missedSinceMs === undefined || nowMs < missedSinceMs + searchLagMs) return { kind: 'unconfirmed' };
  const missedSince = new Date(missedSinceMs).toISOString();
  return { kind: 'finding', finding: { ...base, class: 'missing', evidence: { ...evidence, missed_since: missedSince } } };
}
