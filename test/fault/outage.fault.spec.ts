import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Balance } from '#delivery';
import { openTcpProxy, pause, type TcpProxy, testSize } from '#testkit';
import { CrmFigures } from '../support/crm-figures.js';
import { writeCrmSite } from '../support/crm-site.js';
import { eventually } from '../support/eventually.js';
import { FormLeads } from '../support/form-leads.js';
import { BatchClient } from '../support/replay-batches.js';
import { runLeadctl } from '../support/run-leadctl.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';
import { VirtualClock } from '../support/virtual-clock.js';

/**
 * A CRM refuses connections for half an hour of the services' clock, which runs ahead in steps. Leads under the default policy wait for it; those
 * under `strict` end at their deadline of a quarter of an hour, and a person lets them through again.
 */
const long = testSize() === 'long';
const minuteMs = 60_000;
const outageMs = 30 * minuteMs;
/** Shorter than a lease: a call in flight does not lose its own. */
const stepMs = long ? 5_000 : 20_000;
const realStepMs = 300;
const strictCount = long ? 400 : 40;
const defaultCount = long ? 400 : 60;

const site = writeCrmSite({
  crms: {
    patient: {
      native_idempotency: true,
      backoff: { base: '15s', cap: '5m' },
    },
  },
  behindDoor: 'patient',
  alsoFrom: { hasty: { form: 'patient', policy: 'strict' } },
  policies: { default: { attempts: 4, deadline: '4h', max_age: '7d' }, strict: { attempts: 4, deadline: '15m', max_age: '7d' } },
});
let open: OpenStack;
let door: TcpProxy;
let clock: VirtualClock;
let crm: CrmFigures;
let patient: FormLeads;
let hasty: FormLeads;

beforeAll(async () => {
  open = await openStack({ config: site.file, env: { LEASE_MS: '45000', SWEEP_MS: '1000' } });
  const { sandboxCrm, tourPorts, databaseUrl } = open.endpoints();
  door = await openTcpProxy({ target: { port: Number(new URL(sandboxCrm).port) }, port: tourPorts.door });
  clock = await VirtualClock.take(databaseUrl);
  crm = new CrmFigures(`${sandboxCrm}-patient`);
  [patient, hasty] = [new FormLeads(open, 'patient'), new FormLeads(open, 'hasty')];
}, 120_000);

afterAll(async () => {
  await clock?.close();
  await door?.close();
  await open?.close();
  site.remove();
}, closeMs);

interface StoredDelivery {
  event_id: string;
  state: string;
  /** Milliseconds from its deadline to its end. */
  late_ms: number;
}

/** Deliveries that ended at their deadline. */
const expired = (): Promise<StoredDelivery[]> =>
  clock.rows(
    `select event_id::text, state, (extract(epoch from updated_at - deadline_at) * 1000)::float8 as late_ms from crm_writer.delivery where state = 'expired'`,
  );

async function deadLetters(): Promise<{ event_id: string; class: string }[]> {
  const letters: { event_id: string; class: string }[] = [];
  for (let after: string[] = []; ; ) {
    const { answer, complaint } = await runLeadctl(open.stack.runDir, 'dead-letters', 'list', '--limit', '200', ...after);
    if (answer === undefined) throw new Error(complaint);
    const { items, next } = answer as { items: typeof letters; next?: string };
    letters.push(...items);
    if (next === undefined) return letters;
    after = ['--after', next];
  }
}

/** Runs `atStep` and moves the clock on, for so long of the clock's time. */
async function passes(ms: number, atStep: (passedMs: number) => Promise<unknown> = async () => undefined): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
    await Promise.all([atStep(passedMs), pause(realStepMs)]);
    await clock.advance(stepMs);
  }
}

async function balance(): Promise<Balance> {
  const { code, answer } = await runLeadctl(open.stack.runDir, 'balance');
  expect({ code, answer }).toMatchObject({ code: 0, answer: { balanced: true } });
  return answer as Balance;
}

it('half an hour without a CRM makes no dead letter under the default policy, and each lead one by its deadline under `strict`', async () => {
  await Promise.all([patient.postMany(5), hasty.postMany(5)]);
  await eventually(async () => expect((await crm.stats()).records).toBe(10));

  await door.refuse();
  // The last of the hasty ones comes so early that its deadline is met before the CRM is.
  const postingMs = 12 * minuteMs;
  await passes(outageMs, async (passedMs) => {
    if (passedMs >= postingMs) return;
    const share = (passedMs + stepMs) / postingMs;
    await patient.postMany(Math.max(0, Math.min(defaultCount, Math.ceil(share * defaultCount)) + 5 - patient.eventIds.length));
    await hasty.postMany(Math.max(0, Math.min(strictCount, Math.ceil(share * strictCount)) + 5 - hasty.eventIds.length));
  });
  const late = hasty.eventIds.slice(5);
  await eventually(async () => {
    const letters = await deadLetters();
    expect(letters.map(({ class: failure }) => failure).filter((failure) => failure !== 'deadline_exceeded')).toEqual([]);
    expect(letters.map(({ event_id }) => event_id).sort()).toEqual([...late].sort());
  }, 60_000);
  const ends = await expired();
  expect(ends.map(({ event_id }) => event_id).sort()).toEqual([...late].sort());
  expect(Math.min(...ends.map(({ late_ms }) => late_ms))).toBeGreaterThanOrEqual(0);
  const [refused] = await clock.rows<{ calls: number }>(
    `select count(*)::int as calls from crm_writer.attempt where outcome <> 'succeeded'`,
  );
  expect(refused?.calls).toBeGreaterThan(0);
  console.log(
    `${refused?.calls} calls were refused; ${late.length} leads ended at their deadline, the last ${Math.round(Math.max(...ends.map(({ late_ms }) => late_ms)) / 1_000)} s late by a clock that steps ${stepMs / 1_000} s; ${defaultCount} wait`,
  );
  expect((await crm.stats()).records).toBe(10);
  expect(await balance()).toMatchObject({ found: { delivered: 10, expired: strictCount } });
}, 400_000);

it('delivers what waited when the CRM is back, once each', async () => {
  await door.heal();
  const waited = patient.eventIds;
  for (let records = 0; records < waited.length; records = await crm.records(waited)) await passes(2 * stepMs);
  await eventually(async () => expect(await patient.states('patient-crm')).toEqual({ delivered: waited.length }), 30_000);
  expect(await crm.records(hasty.eventIds.slice(5))).toBe(0);
  expect(await crm.stats()).toMatchObject({ records: waited.length + 5, duplicateEffects: 0 });
}, 200_000);

it('delivers each lead once that a person lets through again', async () => {
  const filter = { destination: 'patient-crm', class: 'deadline_exceeded' };
  const again = { filter, new_deadline: '4h', rate_per_s: 50, concurrency: 50, reason: 'the CRM is back' };
  const batches = new BatchClient(open);
  const { batch_id } = await batches.approved(again);
  expect((await batches.report(batch_id)).counts).toMatchObject({ items: strictCount });
  // Asked once more while they are on their way: none is approved twice.
  const draft = await batches.done<{ batch_id: string }>('operator', '/v1/batches', again);
  const { verdicts } = await batches.done<{ verdicts: object }>('operator', `/v1/batches/${draft.batch_id}/dry-run`, {});
  expect(verdicts).not.toHaveProperty('eligible');
  await eventually(async () => expect(await hasty.states('patient-crm')).toEqual({ delivered: hasty.eventIds.length }), 60_000);
  const counts = await crm.recordCounts();
  expect([...patient.eventIds, ...hasty.eventIds].filter((id) => counts.get(id) !== 1)).toEqual([]);
  expect(await crm.stats()).toMatchObject({ records: patient.eventIds.length + hasty.eventIds.length, duplicateEffects: 0 });
  expect(await balance()).toMatchObject({ found: { delivered: patient.eventIds.length + hasty.eventIds.length } });
}, 200_000);
