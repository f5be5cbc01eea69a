import { v7 } from 'uuid';
import { z } from 'zod';
import { discrepancyClasses, type ReplayFacts } from '#delivery';
import { type Column, columnValues, type Tx, unnestColumns } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { batchHash } from '../batches/batch-hash.js';
import { capsOf, insertBatch } from '../batches/draft-batch.js';
import { factsOf, pagesOf } from '../batches/facts.js';
import { draftRequest } from '../batches/filter.js';
import { mappingVersionOf, requestHashOf } from '../batches/machine/verdict.js';
import type { BatchTools } from '../batches/tools.js';
import type { Person } from '../people/person.js';
import { listDiscrepancies, readDiscrepancies } from './discrepancies.js';
import { reconcilerPage } from './reconciler-api.js';
import { reconciliationRefusals } from './refusals.js';
import type { RepairPlan } from './repair-plan.js';
import type { DiscrepancyItem } from './shapes.js';

const name = z.string().min(1).max(512);
const filter = z
  .strictObject({
    class: z.enum(discrepancyClasses).optional(),
    destination: name.optional(),
    owner: name.optional(),
    run_id: z.uuid().optional(),
    event_id: z.uuid().optional(),
  })
  .refine((select) => Object.values(select).some((value) => value !== undefined), {
    params: { problem: 'selects everything', fix: 'Name a class, a destination, an owner, a run or a lead' },
  });

const { max, new_deadline, rate_per_s, concurrency, max_duration, canary, reason } = draftRequest.shape;

/** Which discrepancies are to be repaired, and the limits of the batch that does it. */
export const repairsBody = z
  .strictObject({
    ids: z.array(z.uuid()).min(1).max(1_000).optional(),
    filter: filter.optional(),
    ...{ max, new_deadline, rate_per_s, concurrency, max_duration, canary, reason },
  })
  .refine(({ ids, filter: select }) => (ids === undefined) !== (select === undefined), {
    path: ['filter'],
    params: { problem: 'must be there once', fix: 'Name discrepancies by `ids`, or say in `filter` which are meant' },
  });
type RepairsRequest = z.infer<typeof repairsBody>;

/** Why discrepancies are not in the batch. */
const leftOut = z.object({
  no_repair: z.number().describe('A person decides about them at the destination.'),
  settled: z.number().describe('They are repaired, accepted or gone, or a batch repairs them.'),
  unknown: z.number().describe('There are none of these ids that you may see.'),
});
export const repairsAnswer = z.object({
  batch_id: z.uuid(),
  state: z.literal('draft'),
  hash: z.string(),
  items: z.number().describe('Deliveries.'),
  discrepancies: z.number(),
  left_out: leftOut,
});
type RepairsAnswer = z.infer<typeof repairsAnswer>;

interface Chosen {
  found: DiscrepancyItem[];
  left_out: z.infer<typeof leftOut>;
}

/** One delivery with all that is to be repaired of it. */
interface Listed {
  itemId: string;
  position: number;
  event_id: string;
  destination: string;
  organization?: string;
  discrepancies: DiscrepancyItem[];
  facts?: ReplayFacts;
  plan: RepairPlan;
}

const service = 'crm-writer';
const columns: readonly Column<Listed>[] = [
  ['item_id', 'uuid', ({ itemId }) => itemId],
  ['event_id', 'uuid', ({ event_id }) => event_id],
  ['destination', 'text', ({ destination }) => destination],
  ['organization', 'text', ({ organization }) => organization],
  ['original_deadline_at', 'timestamptz', ({ facts }) => facts && new Date(facts.deadline_at)],
  ['place', 'int4', ({ position }) => position],
  ['lead_ref', 'text', ({ facts }) => facts?.lead_ref],
  ['mapping_version', 'int4', ({ facts }) => facts && mappingVersionOf(facts)],
  ['request_hash', 'text', ({ facts }) => facts && requestHashOf(facts)],
  ['generation', 'int4', ({ facts }) => facts?.generation],
  ['repair', 'jsonb', ({ plan }) => JSON.stringify(plan)],
  ['ids', 'text', ({ discrepancies }) => discrepancies.map(({ discrepancy_id }) => discrepancy_id).join(',')],
  ['keys', 'text', ({ facts }) => facts?.operations.map(({ operation_key }) => operation_key).join('\n')],
];
const itemsSql = `
INSERT INTO replay_item (batch_id, state, service, checked_at, item_id, event_id, destination, organization, original_deadline_at, position, lead_ref,
  mapping_version, request_hash, generation, repair, discrepancy_ids, operation_keys)
SELECT $${columns.length + 1}::uuid, 'listed', '${service}', clock_now(), item_id, event_id, destination, organization, original_deadline_at, place,
  lead_ref, mapping_version, request_hash, generation, repair, string_to_array(ids, ',')::uuid[], coalesce(string_to_array(keys, E'\\n'), '{}')
FROM ${unnestColumns('input', columns)}`;
const insertPage = 2_000;

/**
 * Freezes discrepancies into a replay batch that repairs them: an item for each delivery, with what is to become of each of its operations. Nothing is
 * reserved by it. Throws the refusals `nothing-to-repair` and 503; rejects with InternalUnavailable while an owner does not answer.
 */
export async function draftRepairs(tools: BatchTools, request: RepairsRequest, person: Person): Promise<RepairsAnswer> {
  const { db, logger } = tools;
  const { found, left_out } = await chosen(tools, request, person);
  if (found.length === 0) throw reconciliationRefusals.nothingToRepair();
  const listed = await listedOf(tools, found);
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
  return { ...draft, discrepancies: listed.reduce((sum, { discrepancies }) => sum + discrepancies.length, 0), left_out };
}

async function insertItems(tx: Tx, batchId: string, listed: readonly Listed[]): Promise<void> {
  for (const page of pagesOf(listed, insertPage)) {
    await tx.sql('operator.insert_repairs', itemsSql, [...columnValues(columns, page), batchId]);
  }
}

/** What can be repaired of what was asked for, and how much cannot. */
async function chosen(tools: BatchTools, request: RepairsRequest, person: Person): Promise<Chosen> {
  const asked = request.ids === undefined ? await filtered(tools, request, person) : await readDiscrepancies(tools, request.ids, person);
  const isOpen = ({ state }: DiscrepancyItem): boolean => state === 'open' || state === 'repair_failed';
  const open = asked.filter(isOpen);
  const found = open
    .filter(({ repair, event_id }) => (repair === 'create' || repair === 'update') && event_id !== undefined)
    .slice(0, request.max);
  return {
    found,
    left_out: {
      no_repair: open.length - found.length,
      settled: asked.length - open.length,
      unknown: new Set(request.ids).size - (request.ids === undefined ? 0 : asked.length),
    },
  };
}

async function filtered(tools: BatchTools, { filter: select = {}, max: most }: RepairsRequest, person: Person): Promise<DiscrepancyItem[]> {
  const found: DiscrepancyItem[] = [];
  for (const state of ['open', 'repair_failed'] as const) {
    for (let after: string | undefined; found.length < most; ) {
      const page = await listDiscrepancies(tools, { ...select, state, after, limit: reconcilerPage }, person);
      found.push(...page.items);
      if (page.next === undefined) break;
      after = page.next;
    }
  }
  return found;
}

async function listedOf(tools: BatchTools, found: readonly DiscrepancyItem[]): Promise<Listed[]> {
  const deliveries = new Map<string, DiscrepancyItem[]>();
  for (const one of found) {
    const key = `${one.event_id} ${one.destination}`;
    deliveries.set(key, [...(deliveries.get(key) ?? []), one]);
  }
  const named = [...deliveries.values()].map((own) => {
    const [{ event_id = '', destination, organization } = { destination: '' }] = own as [DiscrepancyItem];
    return { event_id, destination, organization, service, discrepancies: own };
  });
  const facts = await factsOf(tools.replays, named);
  return named.map((one, index): Listed => {
    const own = facts[index];
    return { ...one, itemId: v7(), position: index + 1, facts: own, plan: planOf(one.discrepancies, own) };
  });
}

/** One step for each operation: what is not there is made, whatever else is said of it. */
export function planOf(discrepancies: readonly DiscrepancyItem[], facts: ReplayFacts | undefined): RepairPlan {
  const steps = new Map<string, RepairPlan['steps'][number]>();
  for (const { discrepancy_id, operation_key, kind = '', repair, ref, evidence } of discrepancies) {
    const operation = facts?.operations.find(
      (one) => one.operation_key === operation_key || (operation_key === undefined && one.kind === kind),
    );
    const key = operation?.operation_key ?? operation_key ?? kind;
    if (repair === undefined || repair === 'tell' || steps.get(key)?.repair === 'create') continue;
    const known = operation?.ref ?? ref;
    steps.set(key, {
      discrepancy_id,
      operation_key: key,
      kind: operation?.kind ?? kind,
      repair,
      ...(known !== undefined && { ref: known }),
      ...(repair === 'update' && { compared: comparedOf(evidence) }),
    });
  }
  return { generation: facts?.generation ?? 1, steps: [...steps.values()] };
}

function comparedOf({ version, changed_at }: DiscrepancyItem['evidence']): RepairPlan['steps'][number]['compared'] {
  return { ...(typeof version === 'string' && { version }), ...(typeof changed_at === 'string' && { changed_at }) };
}
