import { refusedRecord } from '#contracts';
import type { ReplayFacts } from '#delivery';
import { type Column, columnValues, type Sql, unnestColumns } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { correctionOpen } from '../corrections/open-work.js';
import { correctionRefusals } from '../corrections/tools.js';
import type { OwningService } from '../dead-letters/letter.js';
import { missingFromSite, replayTopicOf } from '../dead-letters/sources.js';
import type { Person } from '../people/person.js';
import { checkRepairs } from '../reconciliation/check-repairs.js';
import type { RepairPlan } from '../reconciliation/repair-plan.js';
import { type BatchRow, changeState, lockBatch, organizationOf, readBatchRow } from './batch-row.js';
import { factsOf } from './facts.js';
import { heldDestinations } from './held-destinations.js';
import { type Found, LookupBudget, lookUpDoubtful } from './look-up.js';
import { next } from './machine/batch-state.js';
import { type Around, type ItemFacts, type ItemVerdict, judge, type Verdict } from './machine/verdict.js';
import { batchRefusals } from './refusals.js';
import type { PayloadState } from './replay-owner.js';
import type { BatchTools } from './tools.js';

export interface Checked {
  batch_id: string;
  state: 'checked';
  hash: string;
  /** Number of items by verdict. */
  verdicts: Partial<Record<ItemVerdict, number>>;
  /** Number of items. */
  items: number;
  /** Items that the destination was asked about; `left_out`: there were more of which it could have been. */
  lookups: { made: number; left_out: number };
}

/** An item with what its letter says. */
export interface ListedItem {
  item_id: string;
  event_id: string;
  destination: string;
  service: OwningService;
  position: number;
  lead_ref: string | null;
  mapping_version: number | null;
  request_hash: string | null;
  generation: number | null;
  policy: string | null;
  submitted_at: Date | null;
  deadline_at: Date | null;
  has_record: boolean;
  /** Since the list was made, a person closed the letter as dealt with. */
  dismissed: boolean;
  /** Null: it is tried again. */
  repair: RepairPlan | null;
  /** Or `correction …`: what it waits for to end. */
  other_batch: string | null;
}

const pageSize = 500;

const pageSql = `
SELECT i.item_id, i.event_id, i.destination, i.service, i.position, i.lead_ref, i.mapping_version, i.request_hash, i.generation, i.repair,
  d.policy, d.submitted_at, i.original_deadline_at AS deadline_at, d.event IS NOT NULL AS has_record,
  d.closed_as IS NOT DISTINCT FROM 'dismissed' AS dismissed, coalesce(o.batch_id::text, 'correction ' || c.correction_id) AS other_batch
FROM replay_item i LEFT JOIN dead_letter d USING (dead_letter_id)
  LEFT JOIN replay_item o ON o.event_id = i.event_id AND o.destination = i.destination AND o.state = 'open' AND o.batch_id <> i.batch_id
  LEFT JOIN correction c ON c.event_id = i.event_id AND c.destination = i.destination AND ${correctionOpen('c')}
WHERE i.batch_id = $1 AND i.position > $2 AND i.state = 'listed' ORDER BY i.position LIMIT ${pageSize}`;

interface Said {
  item: ListedItem;
  verdict: Verdict;
  looked: boolean;
  facts?: ReplayFacts;
}

const columns: readonly Column<Said>[] = [
  ['item', 'uuid', ({ item }) => item.item_id],
  ['said', 'text', ({ verdict }) => verdict.verdict],
  ['more', 'text', ({ verdict }) => verdict.detail],
  ['looked', 'int4', ({ looked }) => Number(looked)],
];
const saySql = `
UPDATE replay_item i SET verdict = v.said, detail = v.more, lookups = i.lookups + v.looked, checked_at = clock_now()
FROM ${unnestColumns('v', columns)} WHERE i.item_id = v.item AND i.state = 'listed'`;

/**
 * The dry run: asks the owners, the vault and, of what may have happened, the destinations, and says of each item whether it may be tried
 * again. Nothing is sent or reserved. Rejects with InternalUnavailable while somebody who must be asked does not answer.
 */
export async function checkBatch(tools: BatchTools, batchId: string, person: Person): Promise<Checked> {
  const { db, logger } = tools;
  const batch = await readBatchRow(db, batchId, person);
  const step = next({ state: batch.state }, 'check');
  if (!step.ok) throw batchRefusals.state(step.refusal, batch.state);
  const budget = new LookupBudget();
  const held = await heldDestinations(tools.owners);
  const verdicts: Checked['verdicts'] = {};
  for (let after = 0; ; ) {
    const page = await db.sql<ListedItem>('operator.check_page', pageSql, [batchId, after]);
    if (page.length === 0) break;
    const repairs = page.flatMap((item) => (item.repair === null ? [] : [{ ...item, repair: item.repair }]));
    const letters = page.filter(({ repair }) => repair === null);
    const said = [...(await judgePage(tools, letters, { batch, held, budget })), ...(await checkRepairs(tools, repairs, { held, budget }))];
    await db.sql('operator.say_verdicts', saySql, columnValues(columns, said));
    for (const { verdict } of said) verdicts[verdict.verdict] = (verdicts[verdict.verdict] ?? 0) + 1;
    after = page.at(-1)?.position ?? Number.POSITIVE_INFINITY;
  }
  await db.transaction(async (tx) => {
    const now = await lockBatch(tx, batchId, person);
    // Edited meanwhile: what was judged is another list.
    if (now.hash !== batch.hash) throw batchRefusals.staleHash(now.hash);
    await changeState(tx, now, { event: 'check' });
    const subject = { batch_id: batchId, hash: batch.hash, verdicts };
    await audit(tx, { ...actor(person), action: 'batch.check', organization: organizationOf(now), subject });
  });
  logger.info({ batch_id: batchId, count: verdicts.eligible ?? 0, rows: batch.items }, 'Replay batch checked');
  const { made, leftOut } = budget;
  return { batch_id: batchId, state: 'checked', hash: batch.hash, verdicts, items: batch.items, lookups: { made, left_out: leftOut } };
}

interface Context {
  batch: Pick<BatchRow, 'now'>;
  held: ReadonlySet<string>;
  budget: LookupBudget;
}

async function judgePage(tools: BatchTools, page: readonly ListedItem[], { batch, held, budget }: Context): Promise<Said[]> {
  const facts = await factsOf(tools.replays, page);
  // Of a refused record the vault holds nothing: its bytes lie where it was refused.
  const refs = facts.flatMap((one) => (one === undefined || one.destination === refusedRecord ? [] : one.lead_ref));
  const payloads = await tools.vault.payloads(refs);
  const say = (item: ListedItem, own: ReplayFacts | undefined, found: Found | undefined): Verdict => {
    const around = aroundOf(tools, item, {
      now: batch.now,
      held,
      payload: (own && payloads.get(own.lead_ref)) ?? 'kept',
      found: found?.found,
    });
    const verdict = judge(itemFactsOf(item, tools.site), own, around);
    return found?.ref === undefined || verdict.verdict !== 'already_at_destination' ? verdict : { ...verdict, detail: found.ref };
  };
  const first = page.map(
    (item, index): Said => ({ item, facts: facts[index], verdict: say(item, facts[index], undefined), looked: false }),
  );
  const doubtful = first.filter(({ verdict }) => verdict.verdict === 'eligible' || verdict.verdict === 'key_retention_passed');
  const found = await lookUpDoubtful(tools.replays, doubtful, budget);
  return first.map((one) => {
    const answer = found.get(one.item.item_id);
    return answer === undefined ? one : { ...one, verdict: say(one.item, one.facts, answer), looked: true };
  });
}

/** A record on a topic that nobody reads would look like an approval and be none. */
function whyNotReplayable({ service, destination }: ListedItem, site: BatchTools['site']): string | undefined {
  const missing = missingFromSite(site, service, destination);
  if (missing !== undefined) return `${missing} is not in the site file any more`;
  return replayTopicOf(service, destination) === undefined ? `${service} takes no approved items` : undefined;
}

function itemFactsOf(item: ListedItem, site: BatchTools['site']): ItemFacts {
  const { policies } = site;
  const policy = (item.policy === null ? undefined : policies[item.policy]) ?? policies.default;
  return {
    submittedAt: item.submitted_at ?? undefined,
    deadlineAt: item.deadline_at ?? undefined,
    hasRecord: item.has_record,
    dismissed: item.dismissed,
    isRefused: item.destination === refusedRecord,
    notReplayable: whyNotReplayable(item, site),
    otherBatch: item.other_batch ?? undefined,
    maxAgeMs: policy.maxAgeMs,
    frozen: {
      requestHash: item.request_hash ?? undefined,
      mappingVersion: item.mapping_version ?? undefined,
      generation: item.generation ?? undefined,
    },
  };
}

interface Seen {
  now: Date;
  held: ReadonlySet<string>;
  payload: PayloadState;
  found?: Around['found'];
}

/** A notification is no destination of the site file: it is sent without key, payload or consent. */
function aroundOf({ site }: BatchTools, { destination, service }: ListedItem, { now, held, payload, found }: Seen): Around {
  const config = site.destinations[destination];
  return {
    now,
    held: held.has(destination),
    nativeIdempotency: config?.nativeIdempotency ?? false,
    keyRetentionMs: config?.keyRetentionMs ?? 0,
    requiresConsent: config?.requiresConsent ?? false,
    payload: service === 'notifier' ? 'kept' : payload,
    found,
  };
}

/** How old a dry run may be when it is decided by. */
export const checkValidMs = 3_600_000;

/** Eligible items of the batch that another batch took meanwhile. Throws a refusal where a correction did. */
export async function takenByOthers(db: Sql, batchId: string): Promise<{ batch_id: string; count: number } | undefined> {
  await refuseCorrected(db, batchId, 'listed');
  const [other] = await db.sql<{ batch_id: string; count: number }>('operator.taken_items', takenSql, [batchId]);
  return other;
}

/** Throws the refusal that names the correction which has one of the eligible items in that state. */
export async function refuseCorrected(db: Sql, batchId: string, state: 'listed' | 'open'): Promise<void> {
  const [corrected] = await db.sql<{ correction_id: string }>(`operator.corrected_${state}`, correctedSql(state), [batchId]);
  if (corrected !== undefined) throw correctionRefusals.openElsewhere(corrected.correction_id);
}

const takenSql = `
SELECT o.batch_id, count(*)::int AS count FROM replay_item i
  JOIN replay_item o ON o.event_id = i.event_id AND o.destination = i.destination AND o.state = 'open' AND o.batch_id <> i.batch_id
WHERE i.batch_id = $1 AND i.state = 'listed' AND i.verdict = 'eligible' GROUP BY o.batch_id ORDER BY count DESC LIMIT 1`;
const correctedSql = (state: 'listed' | 'open'): string => `
SELECT c.correction_id FROM replay_item i
  JOIN correction c ON c.event_id = i.event_id AND c.destination = i.destination AND ${correctionOpen('c')}
WHERE i.batch_id = $1 AND i.state = '${state}' AND i.verdict = 'eligible' LIMIT 1`;
