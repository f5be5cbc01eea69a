import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DestinationsAnswer, HistoryAnswer } from '#delivery';
import type { InternalClient } from '#runtime';
import { freePortRange, pause, testSize } from '#testkit';
import { runBalance } from '../support/balance.js';
import { CrmFigures } from '../support/crm-figures.js';
import { writeCrmSite } from '../support/crm-site.js';
import { eventually } from '../support/eventually.js';
import { FormLeads, internalOf } from '../support/form-leads.js';
import { type SecondWriter, startSecondWriter } from '../support/second-writer.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';

/**
 * What a CRM sees of us while it fails, counted by the CRM: each figure at a CRM of its own, all of them at the same time. The CRM that throttles
 * and the one that is down are served by two processes of crm-writer.
 */
const long = testSize() === 'long';
const concurrency = 8;
const coolDownMs = 3_000;
const windowMs = 10_000;
const minuteMs = 60_000;
/** Retries that are always allowed in a minute. */
const alwaysAllowed = 10;
const watchMs = long ? 150_000 : 30_000;

const site = writeCrmSite({
  crms: {
    half: { native_idempotency: true, concurrency: 16 },
    throttled: { native_idempotency: true, concurrency },
    down: { native_idempotency: true, concurrency, breaker: { cool_down: '3s', longest_cool_down: '3s' } },
    picky: { native_idempotency: true },
    locked: { native_idempotency: true, breaker: { cool_down: '2s', longest_cool_down: '2s' } },
    narrow: { native_idempotency: true, concurrency: 3 },
  },
  policies: { default: { attempts: 4, deadline: '4h', max_age: '7d' } },
});
let open: OpenStack;
let second: SecondWriter;
let writer: InternalClient;
const crms = new Map<string, { crm: CrmFigures; leads: FormLeads }>();
let scenes: Record<string, Promise<void>>;

beforeAll(async () => {
  const env = { SWEEP_MS: '1000' };
  open = await openStack({ config: site.file, env });
  const port = await freePortRange(1);
  second = await startSecondWriter(open.stack, { config: site.file, env: { ...env, LD_DESTINATIONS: 'throttled-crm,down-crm' }, port });
  writer = internalOf(open, 'crm-writer');
  for (const form of ['half', 'throttled', 'down', 'picky', 'locked', 'narrow']) {
    const crm = new CrmFigures(`${open.endpoints().sandboxCrm}-${form}`);
    crm.follow();
    crms.set(form, { crm, leads: new FormLeads(open, form) });
  }
  scenes = { half: half(), throttled: throttled(), down: down(), picky: picky(), locked: locked(), narrow: narrow() };
  // Each is awaited by the test of its name.
  for (const scene of Object.values(scenes)) scene.catch(() => undefined);
}, 120_000);

afterAll(async () => {
  await Promise.all([...crms.values()].map(({ crm }) => crm.stop()));
  await writer?.close();
  await second?.stop();
  await open?.close();
  site.remove();
}, closeMs);

function sceneOf(form: string): { crm: CrmFigures; leads: FormLeads } {
  const scene = crms.get(form);
  if (scene === undefined) throw new Error(`there is no CRM for ${form}`);
  return scene;
}

/** Ten leads a second, and every second request fails: more would be tried again than is allowed. */
async function half(): Promise<void> {
  const { crm, leads } = sceneOf('half');
  await crm.rule({ name: 'half', operation: 'lead', every: 2, status: 503 });
  const begun = performance.now();
  while (performance.now() - begun < watchMs) await Promise.all([leads.post(), pause(100)]);
  const shares: number[] = [];
  for (const { atMs } of crm.readings) {
    const { again } = crm.between(atMs - minuteMs, atMs);
    // The minute of the budget is counted in whole seconds, and a request is on its way for a moment.
    const { all } = crm.between(atMs - minuteMs - 2_000, atMs);
    expect(again).toBeLessThanOrEqual(Math.max(alwaysAllowed, 0.2 * all));
    if (again > alwaysAllowed) shares.push(again / all);
  }
  const { first, again } = crm.between(-1, Number.POSITIVE_INFINITY);
  console.log(`half: ${first} first attempts, ${again} retries, at most ${percent(Math.max(...shares))} of any minute's requests`);
  expect(await crm.hits('half')).toBeGreaterThan(0.45 * (first + again));
  // More would have been retried: it is the budget that held it back.
  expect(first / 2).toBeGreaterThan(again);
  expect(shares.length).toBeGreaterThan(0);
}

/** A CRM that answers every request of two busy processes with 429 and asks for ten seconds. */
async function throttled(): Promise<void> {
  const { crm, leads } = sceneOf('throttled');
  const count = 300;
  await crm.rule({ name: 'slow', operation: 'lead', latencyMs: 400 });
  await leads.postMany(count);
  // Both processes send, and there is more than they may send at once.
  await eventually(async () => expect((await crm.stats()).inFlight).toBeGreaterThan(concurrency));
  await crm.rule({ name: 'busy', operation: 'lead', status: 429, headers: { 'Retry-After': '10' }, latencyMs: 400 });
  await eventually(async () => expect(await crm.hits('busy')).toBeGreaterThan(0));
  const begunAtMs = crm.readings.at(-1)?.atMs ?? 0;
  await pause(long ? 60_000 : 22_000);
  const windows: number[] = [];
  // What was in flight then has been answered a second later.
  for (let from = begunAtMs + 1_000; from + windowMs <= (crm.readings.at(-1)?.atMs ?? 0); from += windowMs) {
    windows.push(crm.between(from, from + windowMs).all);
  }
  const inFlight = (await crm.hits('busy')) - crm.between(begunAtMs + 1_000, Number.POSITIVE_INFINITY).all;
  console.log(`throttled: ${inFlight} requests in flight at the first refusal, then ${windows.join(', ')} in each window`);
  expect(inFlight).toBeLessThanOrEqual(2 * concurrency);
  expect((await crm.stats()).maxInFlight).toBeLessThanOrEqual(2 * concurrency);
  expect(windows.length).toBeGreaterThanOrEqual(2);
  expect(Math.max(...windows)).toBe(1);
  await crm.heal('busy');
  await crm.heal('slow');
  await eventually(async () => expect((await crm.stats()).records).toBe(count), 60_000);
}

/** A CRM that fails every request of two processes. */
async function down(): Promise<void> {
  const { crm, leads } = sceneOf('down');
  await crm.rule({ name: 'down', operation: 'lead', status: 503 });
  await leads.postMany(60);
  await blocked('down-crm');
  const openedAtMs = (crm.readings.at(-1)?.atMs ?? 0) + 1_000;
  await pause((long ? 20 : 6) * coolDownMs);
  const counts = crm.readings
    .filter(({ atMs }) => atMs >= openedAtMs + coolDownMs)
    .map(({ atMs }) => crm.between(atMs - coolDownMs, atMs).all);
  const probes = crm.between(openedAtMs, Number.POSITIVE_INFINITY).all;
  console.log(`down: ${probes} probes, at most ${Math.max(...counts)} in a cool-down`);
  expect(Math.max(...counts)).toBeLessThanOrEqual(3);
  expect(probes).toBeGreaterThanOrEqual(2);
  await crm.heal('down');
  await eventually(async () => expect((await crm.stats()).records).toBe(60), 90_000);
}

/** A CRM that refuses every second lead for good, and then more of them in a row than failures that would block it. */
async function picky(): Promise<void> {
  const { crm, leads } = sceneOf('picky');
  await crm.rule({ name: 'picky', operation: 'lead', every: 2, status: 422 });
  const modes = new Set<string>();
  for (let n = 0; n < (long ? 50 : 10); n += 1) {
    await leads.postMany(10);
    modes.add(await modeOf('picky-crm'));
  }
  const count = leads.eventIds.length;
  await eventually(async () => expect(await leads.states()).toEqual({ delivered: count / 2, dead: count / 2 }), 40_000);
  await crm.heal('picky');
  await crm.rule({ name: 'pickier', operation: 'lead', status: 422 });
  // Half of them would not block it whatever they counted as; so many after one another would.
  const inARow = 40;
  for (let n = 0; n < inARow; n += 10) {
    await leads.postMany(10);
    modes.add(await modeOf('picky-crm'));
  }
  await eventually(async () => expect(await leads.states()).toEqual({ delivered: count / 2, dead: count / 2 + inARow }), 40_000);
  modes.add(await modeOf('picky-crm'));
  expect([...modes].filter((mode) => mode !== 'unknown')).toEqual(['flowing']);
  expect(await blocksAsFailing('picky-crm')).toBe(0);
  expect(await crm.stats()).toMatchObject({ requests: count + inARow, records: count / 2 });
}

/** A CRM that takes our credentials for wrong, and then for right. */
async function locked(): Promise<void> {
  const { crm, leads } = sceneOf('locked');
  for (const operation of ['lead', 'check']) await crm.rule({ name: `locked-${operation}`, operation, status: 401 });
  await leads.postMany(10);
  await eventually(async () => expect(await crm.hits('locked-check')).toBeGreaterThanOrEqual(3), 40_000);
  expect(await crm.hits('locked-lead')).toBeGreaterThan(0);
  expect(await attemptsSpent(leads, 'locked-crm')).toEqual([0]);
  for (const operation of ['lead', 'check']) await crm.heal(`locked-${operation}`);
  await eventually(async () => expect(await leads.states()).toEqual({ delivered: 10 }), 60_000);
  expect(await attemptsSpent(leads, 'locked-crm')).toEqual([1]);
  expect(await crm.stats()).toMatchObject({ records: 10, duplicateEffects: 0 });
}

/** A slow CRM that three calls at a time are declared for. */
async function narrow(): Promise<void> {
  const { crm, leads } = sceneOf('narrow');
  await crm.rule({ name: 'slow', operation: 'lead', latencyMs: 100 });
  await leads.postMany(100);
  await eventually(async () => expect((await crm.stats()).records).toBe(100), 60_000);
  expect(await crm.stats()).toMatchObject({ maxInFlight: 3, requests: 100, duplicateEffects: 0 });
}

async function modeOf(destination: string): Promise<string> {
  const { items } = await writer.post<DestinationsAnswer>('/internal/v1/destinations:state', {});
  return items.find((item) => item.destination === destination)?.mode ?? 'unknown';
}

/** How often the crm-writer of the stack has stopped sending because its calls failed. */
async function blocksAsFailing(destination: string): Promise<number> {
  const page = await (await fetch(String(open.endpoints().metrics['crm-writer']))).text();
  const line = `leads_destination_blocks_total{destination="${destination}",reason="failing"} `;
  return Number(
    page
      .split('\n')
      .find((one) => one.startsWith(line))
      ?.slice(line.length),
  );
}

function blocked(destination: string): Promise<void> {
  return eventually(async () => expect(['blocked', 'probing']).toContain(await modeOf(destination)));
}

/** The different numbers of attempts that the operations of these leads have spent. */
async function attemptsSpent({ eventIds }: FormLeads, destination: string): Promise<number[]> {
  const items = eventIds.map((event_id) => ({ event_id, destination }));
  const history = await writer.post<HistoryAnswer>('/internal/v1/deliveries:history', { items });
  const spent = history.items.flatMap(({ operations }) => operations.map(({ attempts }) => attempts));
  return [...new Set(spent)].sort();
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

it.each([
  ['half', 'tries a fifth of the requests of any minute again at most, though half of them fail'],
  ['throttled', 'sends one request in each ten seconds that a CRM asks for, from two processes together'],
  ['down', 'probes a CRM that is down three times in a cool-down at most, from two processes together'],
  ['picky', 'never blocks a CRM that refuses every second lead, or one lead after another'],
  ['locked', 'spends no attempt on a CRM that refuses our credentials'],
  ['narrow', 'never has more calls open than the CRM is declared for'],
])('%s: %s', async (name) => scenes[name], 300_000);

it('leaves the books balanced', async () => {
  await Promise.allSettled(Object.values(scenes));
  expect(await runBalance(open.stack.runDir)).toMatchObject({ code: 0 });
  const { narrow: _narrow, ...others } = Object.fromEntries(crms);
  for (const { crm } of Object.values(others)) expect((await crm.stats()).duplicateEffects).toBe(0);
}, 400_000);
