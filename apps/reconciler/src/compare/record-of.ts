import type { WindowItem, WindowOperation } from '#delivery';
import type { FoundRecord } from '#destinations';

interface Ours {
  item: Pick<WindowItem, 'contact_ref'>;
  operation: Pick<WindowOperation, 'kind' | 'ref'>;
}

/**
 * Whether a record is that of an operation: it has its reference, or what had it was merged into this one. A person's record is also the one
 * that we know them by now: where theirs was deleted, another lead of theirs has made it again. Pure.
 */
export function isRecordOf({ ref, mergedRefs = [] }: Pick<FoundRecord, 'ref' | 'mergedRefs'>, { item, operation }: Ours): boolean {
  const names = [ref, ...mergedRefs];
  const wanted = [operation.ref, ...(operation.kind === 'contact' ? [item.contact_ref] : [])];
  return wanted.some((one) => one !== undefined && names.includes(one));
}

/** Of what stands there for an operation the record that is its own, else the first. Pure. */
export function recordOf<R extends Pick<FoundRecord, 'ref' | 'mergedRefs'>>(records: readonly R[], ours: Ours): R | undefined {
  return records.find(({ ref }) => ref === ours.operation.ref) ?? records.find((one) => isRecordOf(one, ours)) ?? records[0];
}
