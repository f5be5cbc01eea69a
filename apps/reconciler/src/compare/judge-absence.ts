import type { WindowItem, WindowOperation } from '#delivery';
import { about, type Seen } from './compare-operation.js';
import type { Finding } from './finding.js';
import type { Rules } from './rules.js';

export interface Absence {
  item: WindowItem;
  operation: WindowOperation;
  seen?: Seen;
  /** When an earlier comparison missed it first, in epoch milliseconds. What was missed before it was written again says nothing. */
  missedSinceMs?: number;
}

/** `hidden`: its search may not show it yet, so that absence says nothing. `unconfirmed`: it is missed for the first time. */
export type AbsenceVerdict = { kind: 'hidden' | 'unconfirmed' } | { kind: 'finding'; finding: Finding };

/**
 * What it means that a record is not there. One that was seen there is gone; one that never was is missing only where two looks since it was
 * written, a search lag apart, did not find it. Pure. @param nowMs by the clock that also recorded the write
 */
export function judgeAbsence({ item, operation, seen, missedSinceMs }: Absence, rules: Rules, nowMs: number): AbsenceVerdict {
  const { searchLagMs, maxExecutionMs } = rules;
  const base = { ...about(item, operation), ref: operation.ref, repair: 'create' as const };
  const evidence = { recorded_at: operation.recorded_at, generation: operation.generation };
  const recordedMs = Date.parse(operation.recorded_at);
  const deleted: AbsenceVerdict = { kind: 'finding', finding: { ...base, class: 'deleted', evidence } };
  // What a search has shown once is hidden by no lag.
  if (seen !== undefined && seen.ref === operation.ref) return deleted;
  if (nowMs < recordedMs + maxExecutionMs + searchLagMs) return { kind: 'hidden' };
  // An answer that it was there already may come from before a search shows it.
  if (operation.seen_there) return deleted;
  if (missedSinceMs === undefined || missedSinceMs < recordedMs || nowMs < missedSinceMs + searchLagMs) return { kind: 'unconfirmed' };
  const missedSince = new Date(missedSinceMs).toISOString();
  return { kind: 'finding', finding: { ...base, class: 'missing', evidence: { ...evidence, missed_since: missedSince } } };
}
