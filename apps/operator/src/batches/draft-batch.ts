import { v7 } from 'uuid';
import type { ReplayFacts } from '#delivery';
import { type Column, columnValues, type Tx, unnestColumns } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import type { Person } from '../people/person.js';
import { type BatchCaps, batchHash } from './batch-hash.js';
import { type Chosen, choose } from './choose-letters.js';
import { factsOf, pagesOf } from './facts.js';
import { type DraftRequest, type Filter } from './filter.js';
import { mappingVersionOf, requestHashOf } from './machine/verdict.js';
import { batchRefusals } from './refusals.js';
import type { BatchTools } from './tools.js';

/** A dead letter with what its request is identified by. */
interface Listed {
  chosen: Chosen;
  itemId: string;
  position: number;
  facts?: ReplayFacts;
}

export interface Draft {
  batch_id: string;
  state: 'draft';
  hash: string;
  /** Number of items. */
  items: number;
}

const columns: readonly Column<Listed>[] = [
  ['item_id', 'uuid', ({ itemId }) => itemId],
  ['dead_letter_id', 'uuid', ({ chosen }) => chosen.dead_letter_id],
  ['event_id', 'uuid', ({ chosen }) => chosen.event_id],
  ['destination', 'text', ({ chosen }) => chosen.destination],
  ['service', 'text', ({ chosen }) => chosen.service],
  ['organization', 'text', ({ chosen }) => chosen.organization],
  ['letter_class', 'text', ({ chosen }) => chosen.class],
  ['original_deadline_at', 'timestamptz', ({ chosen }) => chosen.deadline_at ?? undefined],
  ['position', 'int4', (row) => row.position],
  ['lead_ref', 'text', ({ facts }) => facts?.lead_ref],
  ['mapping_version', 'int4', ({ facts }) => facts && mappingVersionOf(facts)],
  ['request_hash', 'text', ({ facts }) => facts && requestHashOf(facts)],
  ['generation', 'int4', ({ facts }) => facts?.generation],
  ['keys', 'text', ({ facts }) => facts?.operations.map(({ operation_key }) => operation_key).join('\n')],
];
const plain = columns.slice(0, -1).map(([name]) => name.replace(/^position$/, 'place'));
const stored = columns.slice(0, -1).map(([name]) => name);

const itemsSql = `
INSERT INTO replay_item (batch_id, state, checked_at, operation_keys, ${stored.join(', ')})
SELECT $${columns.length + 1}::uuid, 'listed', clock_now(), coalesce(string_to_array(keys, E'\\n'), '{}'), ${plain.join(', ')}
FROM ${unnestColumns(
  'input',
  columns.map(([name, type, value]): Column<Listed> => [name === 'position' ? 'place' : name, type, value]),
)}`;

const batchSql = `
INSERT INTO replay_batch (batch_id, state, author, reason, selection, maximum, hash, organizations, items, rate_per_s, concurrency,
  max_duration_ms, new_deadline_ms, canary_wanted, created_at)
VALUES ($1, 'draft', $2, $3, $4::jsonb, $5, $6, $7::text[], $8, $9, $10, $11, $12, $13, clock_now())`;

/** Rows of one insert: well within the time of a statement. */
const insertPage = 2_000;

/**
 * Freezes what a filter finds now into a list of items, each with what its request is identified by at its owner. Nothing is reserved by it.
 * Rejects with InternalUnavailable while an owner does not answer; throws the refusal `nothing-selected`.
 */
export async function draftBatch(tools: BatchTools, request: DraftRequest, person: Person): Promise<Draft> {
  const { db, logger } = tools;
  const filter = filterOf(request);
  const chosen = await choose(db, filter, { max: request.max, person });
  if (chosen.length === 0) throw batchRefusals.nothingSelected();
  const facts = await factsOf(tools.replays, chosen);
  const listed = chosen.map((one, index): Listed => ({ chosen: one, itemId: v7(), position: index + 1, facts: facts[index] }));
  const caps = capsOf(request);
  const draft: Draft = { batch_id: v7(), state: 'draft', hash: batchHash(listed.map(hashed), caps), items: listed.length };
  await db.transaction(async (tx) => {
    await insertDraft(tx, { draft, filter, caps, listed, author: person.subject });
    const subject = { batch_id: draft.batch_id, hash: draft.hash, items: draft.items, filter: named(filter), reason: request.reason };
    await audit(tx, { ...actor(person), action: 'batch.draft', organization: onlyOf(listed), subject });
  });
  logger.info({ batch_id: draft.batch_id, count: draft.items }, 'Replay batch drafted');
  return draft;
}

function filterOf({ select, filter, destination }: DraftRequest): Filter {
  const named: Filter = select ?? filter ?? {};
  return destination === undefined ? named : { ...named, destination };
}

/** A deadline before the batch may end would let its last items expire on their way. */
export function capsOf({
  max,
  rate_per_s,
  concurrency,
  max_duration,
  new_deadline,
  canary,
  reason,
}: Omit<DraftRequest, 'select' | 'filter' | 'destination'>): BatchCaps {
  return {
    max,
    rate_per_s,
    concurrency,
    new_deadline_ms: new_deadline,
    max_duration_ms: Math.min(max_duration ?? new_deadline, new_deadline),
    canary: canary ?? null,
    reason,
  };
}

const hashed = ({ chosen, facts }: Listed) => ({
  event_id: chosen.event_id,
  destination: chosen.destination,
  mapping_version: (facts && mappingVersionOf(facts)) ?? null,
  request_hash: (facts && requestHashOf(facts)) ?? null,
  generation: facts?.generation ?? null,
});

const organizationsOf = (listed: readonly Listed[]): string[] => [...new Set(listed.map(({ chosen }) => chosen.organization ?? ''))];

function onlyOf(listed: readonly Listed[]): string | null {
  const all = organizationsOf(listed);
  return all.length === 1 ? all[0] || null : null;
}

/** Ids by their number: an audit entry is read by people. */
function named({ event_ids, ...filter }: Filter): object {
  return { ...filter, ...(event_ids && (event_ids.length <= 50 ? { event_ids } : { event_ids: event_ids.length })) };
}

interface ToInsert {
  draft: Draft;
  filter: Filter;
  caps: BatchCaps;
  listed: readonly Listed[];
  author: string;
}

async function insertDraft(tx: Tx, { draft, filter, caps, listed, author }: ToInsert): Promise<void> {
  const { batch_id } = draft;
  await insertBatch(tx, { draft, selection: filter, caps, organizations: organizationsOf(listed), author });
  for (const page of pagesOf(listed, insertPage))
    await tx.sql('operator.insert_items', itemsSql, [...columnValues(columns, page), batch_id]);
}

interface BatchToInsert {
  draft: Draft;
  /** What the list was made of, for people. */
  selection: object;
  caps: BatchCaps;
  /** Of the leads; the empty text for what belongs to none. */
  organizations: readonly string[];
  author: string;
}

/** The row of a new batch, without its items. */
export async function insertBatch(tx: Tx, { draft, selection, caps, organizations, author }: BatchToInsert): Promise<void> {
  const { batch_id, hash, items } = draft;
  const limits = [caps.rate_per_s, caps.concurrency, caps.max_duration_ms, caps.new_deadline_ms, caps.canary];
  const about = [batch_id, author, caps.reason, JSON.stringify(selection), caps.max, hash, organizations, items];
  await tx.sql('operator.insert_draft', batchSql, [...about, ...limits]);
}
