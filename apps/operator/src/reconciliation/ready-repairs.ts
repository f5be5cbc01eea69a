import type { HistoryItem } from '#delivery';
import type { ReplayOwner } from '../batches/replay-owner.js';
import { groupBy } from '../group-by.js';
import type { OwnerApi } from '../owners/owner-api.js';
import { readChanges } from './read-changes.js';
import type { RepairPlan } from './repair-plan.js';

interface Row {
  item_id: string;
  event_id: string;
  destination: string;
  service: string;
  repair: RepairPlan | null;
  record_key: Buffer | null;
  event: Buffer | null;
  traceparent: string | null;
}

export interface ReadyTools {
  owners: ReadonlyMap<string, Pick<OwnerApi, 'histories'>>;
  replays: ReadonlyMap<string, Pick<ReplayOwner, 'read'>>;
}

export interface Ready<R> {
  rows: R[];
  /** Never sent, and why. */
  refused: { item_id: string; why: string }[];
}

/**
 * Items as they can be sent: a repair has no letter, its record is the one that its owner keeps. One whose record at the destination somebody has changed
 * since it was compared is not sent. Rejects while an owner does not answer.
 */
export async function readyRepairs<R extends Row>({ owners, replays }: ReadyTools, rows: readonly R[]): Promise<Ready<R>> {
  const isRepair = (row: R): row is R & { repair: RepairPlan } => row.repair !== null;
  const repairs = rows.filter(isRepair);
  if (repairs.length === 0) return { rows: [...rows], refused: [] };
  const changes = await readChanges(replays, repairs);
  const refused = repairs.flatMap(({ item_id }) => {
    const { changed, unread } = changes.get(item_id) ?? { changed: new Set(), unread: new Set() };
    return changed.size + unread.size === 0 ? [] : [{ item_id, why: changed.size > 0 ? 'changed_by_person' : 'not_read' }];
  });
  const gone = new Set(refused.map(({ item_id }) => item_id));
  const records = await recordsOf(
    owners,
    repairs.filter(({ item_id }) => !gone.has(item_id)),
  );
  return { rows: rows.filter(({ item_id }) => !gone.has(item_id)).map((row) => ({ ...row, ...records.get(row.item_id) })), refused };
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
