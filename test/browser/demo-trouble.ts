// Some trouble in a running demo, so that its pictures show something: leads that the CRM refuses for a while, a batch that sends them again and one
// that stops itself, a correction that waits for its approver, and somebody who works in the CRM by hand, which a comparison finds.
import { setTimeout as delay } from 'node:timers/promises';
import type { Endpoints } from '#testkit';
import { Desk } from '../support/desk.js';
import { eventually } from '../support/eventually.js';
import { Sandbox } from '../support/sandbox.js';
import { IntakeClient } from '../support/traffic.js';

const people = ['Ada Quist', 'Bo Lindgren', 'Chidi Okafor', 'Dana Petrov', 'Emre Yilmaz', 'Fay Moreau'];

function leadOf(index: number, run: number): Record<string, unknown> {
  const name = people[index % people.length] as string;
  const email = `${name.toLowerCase().replace(' ', '.')}@example.test`;
  return {
    source_event_id: `pictures-${run}-${index}`,
    form: index % 3 === 0 ? 'callback' : 'contact',
    campaign: 'autumn',
    contact: { name, email, phone: `+120255501${String(index % 100).padStart(2, '0')}` },
    message: 'Please call me about a quote',
    consent: { given: true, at: '2026-11-01T10:00:00Z' },
  };
}

async function call<T>({ operator, operatorTokens }: Endpoints, role: 'operator' | 'approver', path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${operator}/v1/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${operatorTokens[role]}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return (await response.json()) as T;
}

function deadLetters(endpoints: Endpoints, atLeast: number): Promise<string[]> {
  return eventually(async () => {
    const path = 'dead-letters?tab=dead&destination=sandbox-crm&limit=100';
    const { items } = await call<{ items: { event_id: string }[] }>(endpoints, 'operator', path);
    if (items.length < atLeast) throw new Error(`${items.length} dead letters`);
    return items.map(({ event_id }) => event_id);
  }, 120_000);
}

/** Gives once a batch of these leads has ended as it should. */
async function replay(endpoints: Endpoints, event_ids: string[], { reason, end }: { reason: string; end: string }): Promise<void> {
  const request = { filter: { event_ids, destination: 'sandbox-crm' }, reason, rate_per_s: 5 };
  const { batch_id } = await call<{ batch_id: string }>(endpoints, 'operator', 'batches', request);
  const { hash } = await call<{ hash: string }>(endpoints, 'operator', `batches/${batch_id}/dry-run`, {});
  await call(endpoints, 'approver', `batches/${batch_id}/approve`, { hash });
  await eventually(async () => {
    const { state } = await call<{ state: string }>(endpoints, 'operator', `batches/${batch_id}`);
    if (state !== end) throw new Error(`the batch is ${state}`);
  }, 120_000);
}

/**
 * Gives once 50 leads have gone through or have become dead letters, a batch of some of these has run, one that was sent too early has stopped, and a
 * correction of a lead that was delivered is drafted.
 */
export async function makeTrouble(endpoints: Endpoints): Promise<void> {
  const sandbox = new Sandbox(endpoints);
  const intake = new IntakeClient(endpoints);
  const run = Date.now();
  await sandbox.control({ operation: 'lead', status: 400, every: 2 });
  for (let index = 0; index < 50; index += 1) await intake.post(leadOf(index, run));
  const dead = await deadLetters(endpoints, 24);
  await sandbox.control({ operation: 'lead', status: 400 });
  await replay(endpoints, dead.slice(0, 12), { reason: 'They say that it works again', end: 'stopped' });
  await sandbox.clearRules();
  const delivered = dead.slice(12, 23);
  await replay(endpoints, delivered, { reason: 'The CRM takes the field again', end: 'finished' });
  const changes = { name: 'Ada Quist-Lindgren' };
  const correction = { event_id: delivered[0], destination: 'sandbox-crm', changes, reason: 'She told us her new name' };
  await call(endpoints, 'operator', 'corrections', correction);
}

async function compare(endpoints: Endpoints): Promise<void> {
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const { run_id } = await call<{ run_id: string }>(endpoints, 'operator', 'reconciliation/runs', { destination: 'sandbox-crm', from });
  await eventually(async () => {
    const { items } = await call<{ items: { state: string }[] }>(endpoints, 'operator', `reconciliation/runs?run_id=${run_id}`);
    if (items[0]?.state !== 'finished') throw new Error(`the run is ${items[0]?.state}`);
  }, 120_000);
}

/** Gives once two comparisons have seen the CRM before and after somebody removed, copied and changed records there. */
export async function workByHand(endpoints: Endpoints): Promise<void> {
  const desk = new Desk(endpoints);
  // The CRM's `max_execution` and `search_lag`: only then a comparison counts on what it reads.
  await delay(3_100);
  await compare(endpoints);
  const { leads } = await desk.everything();
  const [removed, copied, changed] = leads.slice(-3);
  if (removed === undefined || copied === undefined || changed === undefined) throw new Error('the CRM holds fewer than three leads');
  await desk.remove(removed.id);
  await desk.copy(copied.id);
  await desk.edit(String(changed.contact_id), { phone: '+12025550199' });
  await compare(endpoints);
  await eventually(async () => {
    const { reconciliation } = await call<{ reconciliation: { open: unknown[] } | null }>(endpoints, 'operator', 'overview');
    if (!reconciliation?.open.length) throw new Error('the overview has not counted it yet');
  }, 120_000);
}
