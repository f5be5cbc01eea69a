import { readDiscrepancies } from './discrepancies.js';
import { everybody } from './everybody.js';
import type { ReconcilerApi } from './reconciler-api.js';

/** What nobody is to repair any more. */
const settledStates: ReadonlySet<string> = new Set(['accepted', 'gone', 'repaired']);

/** Of these discrepancies, those of which somebody or something has decided otherwise since a dry run found them, with the reason. Rejects with the refusal 503. */
export async function settledSince(
  reconciler: Pick<ReconcilerApi, 'discrepancies'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const now = new Map((await readDiscrepancies({ reconciler }, ids, everybody)).map((one) => [one.discrepancy_id, one]));
  return new Map(
    ids.flatMap((id): [string, string][] => {
      const one = now.get(id);
      if (one === undefined) return [[id, 'unknown_discrepancy']];
      if (one.aspect === 'human_change') return [[id, 'changed_by_person']];
      return settledStates.has(one.state) ? [[id, one.state]] : [];
    }),
  );
}
