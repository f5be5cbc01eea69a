import { v7 } from 'uuid';
import { type Column, columnValues, type Tx, unnestColumns } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { batchHash } from '../batches/batch-hash.js';
import { capsOf, insertBatch } from '../batches/draft-batch.js';
import { pagesOf } from '../batches/facts.js';
import { mappingVersionOf, requestHashOf } from '../batches/machine/verdict.js';
import type { BatchTools } from '../batches/tools.js';
import type { Person } from '../people/person.js';
import { chooseRepairs } from './choose-repairs.js';
import { type Listed, listRepairs } from './list-repairs.js';
import { reconciliationRefusals } from './refusals.js';
import type { RepairsAnswer, RepairsRequest } from './repairs-request.js';

const columns: readonly Column<Listed>[] = [
  ['item_id', 'uuid', ({ itemId }) => itemId],
  ['event_id', 'uuid', ({ event_id }) => event_id],
  ['destination', 'text', ({ destination }) => destination],
  ['organization', 'text', ({ organization }) => organization],
  ['service', 'text', ({ service }) => service],
  ['dead_letter_id', 'uuid', ({ letter }) => letter?.dead_letter_id],
  ['letter_class', 'text', ({ letter }) => letter?.class],
  ['original_deadline_at', 'timestamptz', ({ facts, letter }) => letter?.deadline_at ?? (facts && new Date(facts.deadline_at))],
  ['place', 'int4', ({ position }) => position],
  ['lead_ref', 'text', ({ facts }) => facts?.lead_ref],
  ['mapping_version', 'int4', ({ facts }) => facts && mappingVersionOf(facts)],
  ['request_hash', 'text', ({ facts }) => facts && requestHashOf(facts)],
  ['generation', 'int4', ({ facts }) => facts?.generation],
  ['repair', 'jsonb', ({ plan }) => plan && JSON.stringify(plan)],
  ['ids', 'text', ({ discrepancies }) => discrepancies.map(({ discrepancy_id }) => discrepancy_id).join(',')],
  ['keys', 'text', ({ facts }) => facts?.operations.map(({ operation_key }) => operation_key).join('\n')],
];
const itemsSql = `
INSERT INTO replay_item (batch_id, state, checked_at, item_id, event_id, destination, organization, service, dead_letter_id, letter_class,
  original_deadline_at, position, lead_ref, mapping_version, request_hash, generation, repair, discrepancy_ids, operation_keys)
SELECT $${columns.length + 1}::uuid, 'listed', clock_now(), item_id, event_id, destination, organization, service, dead_letter_id, letter_class,
  original_deadline_at, place, lead_ref, mapping_version, request_hash, generation, repair, string_to_array(ids, ',')::uuid[], coalesce(string_to_array(keys, E'\\n'), '{}')
FROM ${unnestColumns('input', columns)}`;
const insertPage = 2_000;

/**
 * Freezes discrepancies into a replay batch that repairs them: an item for each delivery, with what is to become of each of its operations. Nothing is
 * reserved by it. Throws the refusals `nothing-to-repair` and 503; rejects with InternalUnavailable while an owner does not answer.
 */
export async function draftRepairs(tools: BatchTools, request: RepairsRequest, person: Person): Promise<RepairsAnswer> {
  const { db, logger } = tools;
  const { found, left_out } = await chooseRepairs(tools, request, person);
  const { listed, untold } = await listRepairs(tools, found);
  if (listed.length === 0) throw reconciliationRefusals.nothingToRepair();
  const caps = capsOf(request);
  const hashed = listed.map(({ event_id, destination, facts, plan }) => ({
    event_id,
    destination,
    mapping_version: (facts && mappingVersionOf(facts)) ?? null,
    request_hash: (facts && requestHashOf(facts)) ?? null,
    generation: facts?.generation ?? null,
    repair: plan,
  }));
  const draft = { batch_id: v7(), state: 'draft' as const, hash: batchHash(hashed, caps), items: listed.length };
  const selection = { discrepancies: request.filter ?? { ids: request.ids?.length ?? 0 } };
  const organizations = [...new Set(listed.map(({ organization = '' }) => organization))];
  await db.transaction(async (tx) => {
    await insertBatch(tx, { draft, selection, caps, organizations, author: person.subject });
    await insertItems(tx, draft.batch_id, listed);
    const subject = { batch_id: draft.batch_id, hash: draft.hash, items: draft.items, ...selection, reason: request.reason };
    const [only = '', ...more] = organizations;
    await audit(tx, { ...actor(person), action: 'repair.draft', organization: more.length === 0 ? only || null : null, subject });
  });
  logger.info({ batch_id: draft.batch_id, count: draft.items }, 'Repairs drafted');
  return { ...draft, discrepancies: found.length - untold, left_out: { ...left_out, no_letter: untold } };
}

async function insertItems(tx: Tx, batchId: string, listed: readonly Listed[]): Promise<void> {
  for (const page of pagesOf(listed, insertPage)) {
    await tx.sql('operator.insert_repairs', itemsSql, [...columnValues(columns, page), batchId]);
  }
}
