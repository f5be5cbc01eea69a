import { setTimeout as delay } from 'node:timers/promises';
import type { Endpoints } from '#testkit';
import { eventually } from '../support/eventually.js';
import type { Seeded } from './schemathesis.js';

type Role = 'viewer' | 'operator' | 'approver' | 'admin';
type Json = Record<string, unknown>;

interface Answer {
  status: number;
  body: Json;
}

export interface Walked {
  /** What came of each operation for somebody who may do it: the best status, by `METHOD /path/{parameter}`. */
  statuses: Map<string, number>;
  /** What is there now. */
  seeded: Seeded;
}

/** Leads that end as dead letters: only people may write this field at the demo's CRM. */
export const deadLeads = 8;

/** Calls the operator service as one role after the other, and notes what each operation answered. */
class Walk {
  readonly statuses: Walked['statuses'] = new Map();
  readonly seeded: Seeded = { rows: {}, requests: {} };

  constructor(private readonly endpoints: Pick<Endpoints, 'operator' | 'operatorTokens'>) {}

  /** Notes ids that belong together, under the area of their operations. */
  note(area: string, row: Json): void {
    this.seeded.rows[area] = [...(this.seeded.rows[area] ?? []), row];
  }

  /** `path` with its parameters by name; a value is put in for each. */
  async call(role: Role, operation: string, given: { path?: Json; query?: string; body?: Json } = {}): Promise<Answer> {
    const [method = 'GET', path = ''] = operation.split(' ');
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(given.path?.[name])));
    const response = await fetch(`${this.endpoints.operator}${filled}${given.query ?? ''}`, {
      method,
      headers: { authorization: `Bearer ${this.endpoints.operatorTokens[role]}`, 'content-type': 'application/json' },
      ...(method === 'POST' && { body: JSON.stringify(given.body ?? {}) }),
      signal: AbortSignal.timeout(30_000),
    });
    const best = this.statuses.get(operation);
    if (best === undefined || response.status < best) this.statuses.set(operation, response.status);
    if (response.ok) this.seeded.requests[operation] = { path: given.path, body: given.body };
    // Never ends by itself.
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      await response.body?.cancel();
      return { status: response.status, body: {} };
    }
    const text = await response.text();
    const json = response.headers.get('content-type')?.includes('json') ?? false;
    return { status: response.status, body: json ? (JSON.parse(text) as Json) : {} };
  }
}

const reason = 'shown by a test';

/** A lead whose destination never answered and cannot be asked just now. */
export interface Doubtful {
  event_id: string;
  destination: string;
  /** From now on the destination answers. */
  heal(): Promise<unknown>;
}

export interface WalkedLeads {
  /** As many as `deadLeads`. */
  dead: readonly string[];
  doubtful: Doubtful;
  /** Discrepancies of two leads that `sandbox-crm` lost. */
  lost: readonly string[];
}

/** Does everything once that the surface offers. */
export async function walkOperator(
  endpoints: Pick<Endpoints, 'operator' | 'operatorTokens'>,
  { dead: events, doubtful, lost }: WalkedLeads,
): Promise<Walked> {
  const walk = new Walk(endpoints);
  await clearDoubt(walk, doubtful);
  await look(walk, events[0] as string);
  await decideOnLetters(walk, events);
  await holdAndTest(walk);
  await correct(walk, events[1] as string);
  await runBatch(walk, events.slice(2, 5));
  await walk.call('admin', 'POST /v1/items/approve', {
    body: { select: { event_ids: [events[5]] }, new_deadline: '1h', max: 1, reason },
  });
  await actOnDelivery(walk, events[6] as string);
  await compare(walk, lost);
  await erase(walk, events[0] as string);
  await leaveOpen(walk, events[7] as string);
  for (const event_id of events.slice(1)) walk.note('leads', { event_id, destination: 'sandbox-crm' });
  for (const name of ['tour-crm', 'sandbox-crm', 'sales']) walk.note('destinations', { name });
  return { statuses: walk.statuses, seeded: walk.seeded };
}

/** What waits for a decision of somebody else, who may be whoever comes next. */
async function leaveOpen(walk: Walk, event_id: string): Promise<void> {
  const dead_letter_id = await letterOf(walk, event_id);
  walk.note('dead-letters', { event_id, dead_letter_id, ids: [dead_letter_id] });
  walk.note('items', { event_ids: [event_id] });
  const batch = await walk.call('operator', 'POST /v1/batches', { body: { filter: { event_ids: [event_id] }, reason } });
  const { batch_id } = batch.body;
  const { hash } = (await walk.call('operator', 'POST /v1/batches/{batch_id}/dry-run', { path: { batch_id } })).body;
  walk.note('batches', { batch_id, hash, event_ids: [event_id] });
  const erasure = (await walk.call('operator', 'POST /v1/erasures', { body: { event_id, reason } })).body;
  walk.note('erasures', { erasure_id: erasure.erasure_id, hash: erasure.hash, event_id });
}

async function look(walk: Walk, event_id: string): Promise<void> {
  const lists = [
    'me',
    'audit',
    'audit/verify',
    'destinations',
    'dead-letters',
    'dead-letters/groups',
    'overview',
    'batches',
    'corrections',
    'erasures',
    'live',
  ];
  for (const list of lists) await walk.call('viewer', `GET /v1/${list}`);
  for (const open of ['console-config.json', 'openapi.json']) await walk.call('viewer', `GET /${open}`);
  await walk.call('viewer', 'POST /v1/search', { body: { text: event_id } });
  await walk.call('viewer', 'GET /v1/leads/{event_id}', { path: { event_id } });
  await walk.call('viewer', 'GET /v1/dead-letters/{event_id}', { path: { event_id } });
  await walk.call('operator', 'POST /v1/leads/{event_id}/reveal', { path: { event_id }, body: { reason } });
}

async function letterOf(walk: Walk, event_id: string): Promise<string> {
  const { body } = await walk.call('viewer', 'GET /v1/dead-letters/{event_id}', { path: { event_id } });
  return String((body.items as Json[])[0]?.dead_letter_id);
}

async function decideOnLetters(walk: Walk, events: readonly string[]): Promise<void> {
  const dead_letter_id = await letterOf(walk, events[0] as string);
  const ids = [dead_letter_id];
  await walk.call('operator', 'POST /v1/dead-letters/assign', { body: { ids, assignee: 'oscar' } });
  await walk.call('operator', 'POST /v1/dead-letters/note', { body: { ids, text: 'asked their support' } });
  const disposition = 'approve_replay';
  await walk.call('operator', 'POST /v1/dead-letters/disposition', { body: { ids, disposition, reason } });
  await walk.call('viewer', 'GET /v1/dead-letters/{dead_letter_id}/notes', { path: { dead_letter_id } });
  await walk.call('operator', 'POST /v1/dead-letters/dismiss', { body: { ids, reason } });
  await walk.call('operator', 'POST /v1/dead-letters/{dead_letter_id}/dismiss', { path: { dead_letter_id }, body: { reason } });
}

async function holdAndTest(walk: Walk): Promise<void> {
  const path = { name: 'tour-crm' };
  await walk.call('operator', 'POST /v1/destinations/{name}/hold', { path, body: { reason } });
  await walk.call('operator', 'POST /v1/destinations/{name}/release', { path, body: { reason } });
  await walk.call('operator', 'POST /v1/destinations/{name}/test', { path: { name: 'sandbox-crm' } });
}

async function correct(walk: Walk, event_id: string): Promise<void> {
  const body = { event_id, destination: 'sandbox-crm', changes: { custom: { budget: '1000' } }, reason };
  const draft = await walk.call('operator', 'POST /v1/corrections', { body });
  const path = { correction_id: draft.body.correction_id };
  await walk.call('viewer', 'GET /v1/corrections/{correction_id}', { path });
  walk.note('corrections', { ...path, event_id, destination: 'sandbox-crm', hash: draft.body.hash });
  await walk.call('approver', 'POST /v1/corrections/{correction_id}/approve', { path, body: { hash: draft.body.hash } });
}

async function runBatch(walk: Walk, event_ids: readonly string[]): Promise<void> {
  const body = { filter: { event_ids }, new_deadline: '1h', rate_per_s: 1, concurrency: 1, reason };
  const draft = await walk.call('operator', 'POST /v1/batches', { body });
  const path = { batch_id: draft.body.batch_id };
  await walk.call('operator', 'POST /v1/batches/{batch_id}/edit', { path, body: { rate_per_s: 1 } });
  const checked = await walk.call('operator', 'POST /v1/batches/{batch_id}/dry-run', { path });
  walk.note('batches', { ...path, hash: checked.body.hash, event_ids });
  await walk.call('approver', 'POST /v1/batches/{batch_id}/approve', { path, body: { hash: checked.body.hash } });
  // Until it has begun there is nothing to pause.
  for (let tries = 0; tries < 20; tries += 1) {
    const { status } = await walk.call('operator', 'POST /v1/batches/{batch_id}/pause', { path, body: { reason } });
    if (status === 200) break;
    await delay(250);
  }
  await walk.call('approver', 'POST /v1/batches/{batch_id}/resume', { path, body: { reason } });
  await walk.call('operator', 'POST /v1/batches/{batch_id}/stop', { path, body: { reason } });
  for (const read of ['', '/items', '/items.csv']) await walk.call('viewer', `GET /v1/batches/{batch_id}${read}`, { path });
}

/** What a person does about a write of which nobody knows: has the destination asked, and says what they found themselves. */
async function clearDoubt(walk: Walk, { event_id, destination, heal }: Doubtful): Promise<void> {
  const path = { event_id };
  const operation = { destination, operation_key: `${event_id}:${destination}:lead` };
  walk.note('leads', { ...path, ...operation });
  await eventually(async () => {
    const { status } = await walk.call('operator', 'POST /v1/leads/{event_id}/deliveries/lookup', { path, body: operation });
    if (status >= 300) throw new Error(`not in doubt yet: ${status}`);
  }, 60_000);
  // While the destination does not answer, nothing but a person ends the doubt.
  const body = { ...operation, finding: { kind: 'absent' }, reason };
  await eventually(async () => {
    const { status } = await walk.call('operator', 'POST /v1/leads/{event_id}/deliveries/evidence', { path, body });
    if (status >= 300) throw new Error(`the lookup goes on: ${status}`);
  }, 60_000);
  await heal();
}

async function actOnDelivery(walk: Walk, event_id: string): Promise<void> {
  const path = { event_id };
  const delivery = { destination: 'sandbox-crm' };
  await walk.call('operator', 'POST /v1/leads/{event_id}/consent', { path, body: { given: false, reason } });
  await walk.call('operator', 'POST /v1/leads/{event_id}/deliveries/discard', { path, body: { ...delivery, reason } });
}

/** A comparison with a destination, and all that comparisons have come to. */
async function compare(walk: Walk, lost: readonly string[]): Promise<void> {
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const begun = await walk.call('operator', 'POST /v1/reconciliation/runs', { body: { destination: 'sandbox-crm', from, reason } });
  const path = { run_id: begun.body.run_id };
  await walk.call('operator', 'POST /v1/reconciliation/runs/{run_id}/stop', { path, body: { reason } });
  const [discrepancy_id, other] = lost;
  await walk.call('operator', 'POST /v1/reconciliation/repairs', { body: { ids: [other], reason } });
  const accept = 'POST /v1/reconciliation/discrepancies/{discrepancy_id}/accept';
  await walk.call('approver', accept, { path: { discrepancy_id }, body: { reason } });
  for (const id of lost) walk.note('reconciliation', { ...path, discrepancy_id: id, ids: [id], destination: 'sandbox-crm' });
  for (const list of ['runs', 'discrepancies', 'discrepancies.csv', 'balances', 'balances.csv'])
    await walk.call('viewer', `GET /v1/reconciliation/${list}`);
}

async function erase(walk: Walk, event_id: string): Promise<void> {
  const draft = await walk.call('operator', 'POST /v1/erasures', { body: { event_id, reason } });
  const path = { erasure_id: draft.body.erasure_id };
  await walk.call('approver', 'POST /v1/erasures/{erasure_id}/approve', { path, body: { hash: draft.body.hash } });
  const tasks = await eventually(async () => {
    const { body } = await walk.call('viewer', 'GET /v1/erasures/{erasure_id}', { path });
    const found = (body.tasks ?? []) as Json[];
    if (found.length === 0) throw new Error('no task yet');
    return found;
  }, 20_000).catch((): Json[] => []);
  for (const { task_id } of tasks) {
    walk.note('erasures', { ...path, task_id, hash: draft.body.hash, event_id });
    await walk.call('operator', 'POST /v1/erasures/{erasure_id}/tasks/{task_id}/done', { path: { ...path, task_id } });
  }
}
