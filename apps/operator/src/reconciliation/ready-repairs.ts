import type { HistoryItem, LookedUp } from '#delivery';
import type { ReplayOwner } from '../batches/replay-owner.js';
import { groupBy } from '../group-by.js';
import type { OwnerApi } from '../owners/owner-api.js';
import { missingStill } from './judge-repair.js';
import { lookUpAll } from './look-up-all.js';
import { type Changes, readChanges } from './read-changes.js';
import type { ReconcilerApi } from './reconciler-api.js';
import type { RepairPlan } from './repair-plan.js';
import { settledSince } from './settled-since.js';

interface Row {
  item_id: string;
  event_id: string;
  destination: string;
  service: string;
  discrepancy_ids: string[] | null;
  repair: RepairPlan | null;
  record_key: Buffer | null;
  event: Buffer | null;
  traceparent: string | null;
}

export interface ReadyTools {
  owners: ReadonlyMap<string, Pick<OwnerApi, 'histories'>>;
  replays: ReadonlyMap<string, Pick<ReplayOwner, 'read' | 'lookUp'>>;
  reconciler: Pick<ReconcilerApi, 'discrepancies'>;
}

export interface Ready<R> {
  rows: R[];
  /** Never sent, and why. */
  refused: { item_id: string; why: string }[];
  /** Not sent in this round: a destination cannot say now what it holds of them. */
  waiting: number;
}

/**
 * Items as they can be sent: a repair has no letter, its record is the one that its owner keeps. Hours may have passed since the dry run: one whose
 * discrepancy was accepted or is gone is not sent, nor one whose record somebody has changed since it was compared, nor one that would make a record
 * that is there. Rejects while an owner or the reconciler does not answer.
 */
export async function readyRepairs<R extends Row>(tools: ReadyTools, rows: readonly R[]): Promise<Ready<R>> {
  const refused = await settledOf(tools, rows);
  const left = rows.filter(({ item_id }) => !refused.has(item_id));
  const repairs = left.filter((row): row is R & { repair: RepairPlan } => row.repair !== null);
  const creating = repairs.filter(({ repair }) => repair.steps.some((step) => step.repair === 'create'));
  const [changes, looked] = await Promise.all([readChanges(tools.replays, repairs), lookUpAll(tools.replays, creating)]);
  const waiting = new Set<string>();
  for (const { item_id, repair } of repairs) {
    const why = notAsApproved(repair, { changes: changes.get(item_id), looked: looked.get(item_id) });
    if (why === 'unknown') waiting.add(item_id);
    else if (why !== undefined) refused.set(item_id, why);
  }
  const ready = left.filter(({ item_id }) => !refused.has(item_id) && !waiting.has(item_id));
  const records = await recordsOf(
    tools.owners,
    ready.filter(({ repair }) => repair !== null),
  );
  return {
    rows: ready.map((row) => ({ ...row, ...records.get(row.item_id) })),
    refused: [...refused].map(([item_id, why]) => ({ item_id, why })),
    waiting: waiting.size,
  };
}

/** Items whose discrepancies somebody has settled since, with the reason. */
async function settledOf({ reconciler }: ReadyTools, rows: readonly Row[]): Promise<Map<string, string>> {
  const settled = await settledSince(reconciler, [...new Set(rows.flatMap(({ discrepancy_ids }) => discrepancy_ids ?? []))]);
  const found = new Map<string, string>();
  for (const { item_id, discrepancy_ids } of rows) {
    const why = discrepancy_ids?.map((id) => settled.get(id)).find((one) => one !== undefined);
    if (why !== undefined) found.set(item_id, why);
  }
  return found;
}

/** Why an item is not sent any more; `unknown`: nobody can say now. */
function notAsApproved({ steps }: RepairPlan, { changes, looked }: { changes?: Changes; looked?: LookedUp }): string | undefined {
  if (changes !== undefined && changes.changed.size > 0) return 'changed_by_person';
  const missed = steps.flatMap((step) => (step.repair === 'create' ? (missingStill(step, { looked }) ?? []) : []));
  const there = missed.find(({ verdict }) => verdict !== 'uncertain');
  if (there !== undefined) return there.detail ?? there.verdict;
  return missed.length > 0 || (changes !== undefined && changes.unread.size > 0) ? 'unknown' : undefined;
}

type Stored = Pick<Row, 'record_key' | 'event' | 'traceparent'>;

/** Key and value as they first lay on the topic. By item id; what the owner keeps no more is left out. */
async function recordsOf(owners: ReadyTools['owners'], rows: readonly Row[]): Promise<ReadonlyMap<string, Stored>> {
  const found = new Map<string, Stored>();
  for (const [service, own] of groupBy(rows, (row) => row.service)) {
    const names = own.map(({ event_id, destination }) => ({ event_id, destination }));
    const histories = (await owners.get(service)?.histories(names, true)) ?? [];
    const byName = new Map(histories.map((history) => [`${history.event_id} ${history.destination}`, history]));
    for (const { item_id, event_id, destination } of own) {
      const stored = storedOf(byName.get(`${event_id} ${destination}`));
      if (stored !== undefined) found.set(item_id, stored);
    }
  }
  return found;
}

function storedOf(history: HistoryItem | undefined): Stored | undefined {
  if (history?.event === undefined) return undefined;
  const { record_key, event, traceparent } = history;
  return {
    record_key: record_key === undefined ? null : Buffer.from(record_key, 'base64'),
    event: Buffer.from(event, 'base64'),
    traceparent: traceparent ?? null,
  };
}
