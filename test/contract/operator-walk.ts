import { setTimeout as delay } from 'node:timers/promises';
import type { Endpoints } from '#testkit';
import { eventually } from '../support/eventually.js';

type Role = 'viewer' | 'operator' | 'approver' | 'admin';
type Json = Record<string, unknown>;

interface Answer {
  status: number;
  body: Json;
}

/** What came of each operation for somebody who may do it: the best status, by `METHOD /path/{parameter}`. */
export type Walked = Map<string, number>;

/** Leads that end as dead letters: only people may write this field at the demo's CRM. */
export const deadLeads = 8;

/** Calls the operator service as one role after the other, and notes what each operation answered. */
class Walk {
  readonly statuses: Walked = new Map();

  constructor(private readonly endpoints: Pick<Endpoints, 'operator' | 'operatorTokens'>) {}

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

/** Does everything once that the surface offers, on the dead leads that `events` names and on one that is in doubt. */
export async function walkOperator(
  endpoints: Pick<Endpoints, 'operator' | 'operatorTokens'>,
  events: readonly string[],
  doubtful: Doubtful,
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
  await compare(walk);
  await erase(walk, events[0] as string);
  return walk.statuses;
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
  await walk.call('approver', 'POST /v1/corrections/{correction_id}/approve', { path, body: { hash: draft.body.hash } });
}

async function runBatch(walk: Walk, event_ids: readonly string[]): Promise<void> {
  const body = { filter: { event_ids }, new_deadline: '1h', rate_per_s: 1, concurrency: 1, reason };
  const draft = await walk.call('operator', 'POST /v1/batches', { body });
  const path = { batch_id: draft.body.batch_id };
  await walk.call('operator', 'POST /v1/batches/{batch_id}/edit', { path, body: { rate_per_s: 1 } });
  const checked = await walk.call('operator', 'POST /v1/batches/{batch_id}/dry-run', { path });
  await walk.call('approver', 'POST /v1/batches/{batch_id}/approve', { path, body: { hash: checked.body.hash } });
  // Until it has begun there is nothing to pause.
  for (let tries = 0; tries < 20; tries += 1) {
    const { status } = await walk.call('operator', 'POST /v1/batches/{batch_id}/pause', { path, body: { reason } });
    if (status === 200) break;
    await delay(250);
  }
  await walk.call('approver', 'POST /v1/batches/{batch_id}/resume', { path });
  await walk.call('operator', 'POST /v1/batches/{batch_id}/stop', { path, body: { reason } });
  for (const read of ['', '/items', '/items.csv']) await walk.call('viewer', `GET /v1/batches/{batch_id}${read}`, { path });
}

/** What a person does about a write of which nobody knows: has the destination asked, and says what they found themselves. */
async function clearDoubt(walk: Walk, { event_id, destination, heal }: Doubtful): Promise<void> {
  const path = { event_id };
  const operation = { destination, operation_key: `${event_id}:${destination}:lead` };
  await eventually(async () => {
    const { status } = await walk.call('operator', 'POST /v1/leads/{event_id}/deliveries/lookup', { path, body: operation });
    if (status >= 300) throw new Error(`not in doubt yet: ${status}`);
  }, 60_000);
  await heal();
  const body = { ...operation, finding: { kind: 'absent' }, reason };
  await walk.call('operator', 'POST /v1/leads/{event_id}/deliveries/evidence', { path, body });
}

async function actOnDelivery(walk: Walk, event_id: string): Promise<void> {
  const path = { event_id };
  const delivery = { destination: 'sandbox-crm' };
  await walk.call('operator', 'POST /v1/leads/{event_id}/consent', { path, body: { given: false, reason } });
  await walk.call('operator', 'POST /v1/leads/{event_id}/deliveries/discard', { path, body: { ...delivery, reason } });
}

/** A comparison with a destination, and all that comparisons have come to. */
async function compare(walk: Walk): Promise<void> {
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const begun = await walk.call('operator', 'POST /v1/reconciliation/runs', { body: { destination: 'sandbox-crm', from, reason } });
  const path = { run_id: begun.body.run_id };
  await walk.call('operator', 'POST /v1/reconciliation/runs/{run_id}/stop', { path, body: { reason } });
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
    await walk.call('operator', 'POST /v1/erasures/{erasure_id}/tasks/{task_id}/done', { path: { ...path, task_id } });
  }
}
