import type { WindowItem, WindowOperation } from '#delivery';
import type { FoundRecord } from '#destinations';
import type { Rules } from './rules.js';

/** Clocks of the destination and of ours differ by so much at most. */
const clockDifferenceMs = 1_000;

/** An operation, among those of its lead. */
export interface Ours {
  item: WindowItem;
  operation: WindowOperation;
}

/** When we recorded our last write of the record: a person's by any of their leads. Epoch milliseconds. */
export function lastWriteMs({ item, operation }: Ours): number {
  const writes = [operation.recorded_at, ...(operation.kind === 'contact' ? [item.contact_written_at] : [])];
  return Math.max(...writes.map((at) => (at === undefined ? 0 : Date.parse(at))));
}

/** What is read so soon may be from before our last write, or another lead of the person is writing: it says nothing of the content. */
export function isTooEarly(ours: Ours & { readAtMs: number }, { maxExecutionMs, searchLagMs }: Rules): boolean {
  if (ours.operation.kind === 'contact' && ours.item.contact_held) return true;
  return ours.readAtMs < lastWriteMs(ours) + maxExecutionMs + searchLagMs;
}

/** Nobody of ours has written the record since this operation did. Of a person's record that is known only of leads that went the usual way. */
export function isLastWriter({ item, operation }: Ours): boolean {
  return operation.kind !== 'contact' || item.contact_written_at === operation.recorded_at;
}

/**
 * Whether somebody else wrote the field after we did; undefined: nobody can say. We write some time before we record it, and a lookup that
 * found the record tells still less of when that was.
 */
export function changedByOthers(
  ours: Ours,
  { record, field }: { record: FoundRecord; field: string },
  { maxExecutionMs }: Rules,
): boolean | undefined {
  const by = record.fieldsChangedBy?.[field] ?? record.changedBy;
  if (by !== undefined) return by === 'unknown' ? undefined : by === 'other';
  if (record.changedAt === undefined) return undefined;
  const changedMs = Date.parse(record.changedAt);
  const writtenMs = lastWriteMs(ours);
  if (changedMs > writtenMs + clockDifferenceMs) return true;
  const isBefore = changedMs < writtenMs - clockDifferenceMs - maxExecutionMs;
  return isBefore && !ours.operation.seen_there ? false : undefined;
}
