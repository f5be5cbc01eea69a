import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePortRange, testSize } from '#testkit';
import { crashSite } from '../support/crash-site.js';
import { eventually } from '../support/eventually.js';
import { restartWith } from '../support/restart-with.js';
import { startSecondWriter } from '../support/second-writer.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';
import { percentiles } from '../support/tier-lateness.js';
import { TierWaits } from '../support/tier-waits.js';
import { leadBody } from '../support/traffic.js';

/**
 * Retry tiers of their real length under a whole crm-writer: what waits there is called at its time by the tiers alone, and by the sweeper
 * alone where their records are gone. Two of three leads succeed at once, so that the destination is not found to be failing.
 */
const long = testSize() === 'long';
const refusedLeads = long ? 5_000 : 300;
const few = 40;
const atOnce = 30;
const perRule = 300;
/** A wait on the tier of a minute, so long that two rebalances and a kill find it unended; up to a second is added to what was asked. */
const shakenSeconds = long ? 58 : 45;
const noSweeps = { SWEEP_MS: '86400000' };
/** What a crm-writer has where nothing is said. */
const usualSweeps = { SWEEP_MS: '5000' };
const settleMs = long ? 600_000 : 60_000;
const limitMs = long ? 1_800_000 : 300_000;

let folder: string;
let config: string;
let open: OpenStack;
let waits: TierWaits;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tiers-'));
  config = join(folder, 'site.yaml');
  const whole = { base: '15s', cap: '15s' };
  const site = crashSite([
    { name: 'calm', door: 'native', backoff: whole },
    { name: 'minute', door: 'native', backoff: { base: '1m', cap: '1m' } },
    { name: 'swept', door: 'native', backoff: whole },
    { name: 'shaken', door: 'native' },
    { name: 'emptied', door: 'native' },
  ]);
  writeFileSync(config, site);
  open = await openStack({ env: { ...noSweeps, KAFKA_SESSION_TIMEOUT_MS: '6000' }, config });
  waits = new TierWaits(open.endpoints());
}, 120_000);

afterAll(async () => {
  await waits?.close();
  await open?.close();
  rmSync(folder, { recursive: true, force: true });
}, closeMs);

describe('retry tiers', () => {
  it(
    'have each lead called at its time with the sweeper off, and nothing early or twice',
    async () => {
      await calledAtTheirTime('calm');
    },
    limitMs,
  );

  if (long) {
    it(
      'have each lead called at its time that waits up to a minute',
      async () => {
        // Longer than the tier below takes; the back-off spreads the rest over the minute.
        await calledAtTheirTime('minute', { headers: { 'Retry-After': '16' } });
        expect((await waits.of('minute')).tiers).toEqual({ '1m': refusedLeads });
      },
      limitMs,
    );
  }

  it(
    'leave a sweeper that looks as often as it usually does nothing to wake',
    async () => {
      await restartWith(open.stack, { app: 'crm-writer', signal: 'SIGTERM', env: usualSweeps });
      await Promise.all([calledAtTheirTime('swept'), seenBySweeper('swept')]);
    },
    limitMs,
  );

  it('resume while another member joins and leaves, crm-writer is killed and the broker is restarted', async () => {
    await restartWith(open.stack, { app: 'crm-writer', signal: 'SIGTERM', env: noSweeps });
    const before = await open.sandbox.crmStats();
    const total = await postRefused('shaken', few, { headers: { 'Retry-After': String(shakenSeconds) } });
    const [port = 0] = [await freePortRange(1)];
    const second = await startSecondWriter(open.stack, { config, env: noSweeps, port });
    await second.stop();
    console.log(`after the rebalances: ${JSON.stringify(await waits.states('shaken'))}`);
    expect((await waits.states('shaken')).waiting).toBe(few);
    await restartWith(open.stack, { app: 'crm-writer', signal: 'SIGKILL', env: noSweeps });
    expect((await waits.states('shaken')).waiting).toBe(few);
    await open.stack.restartInfra('kafka');
    await delivered('shaken', total);
    const { latenessMs, tiers } = await waits.of('shaken');
    console.log(`${latenessMs.length} waits over two rebalances, a kill and a restart: ${percentiles(latenessMs)}`);
    expect(Object.keys(tiers)).toEqual(['1m']);
    expect(latenessMs.length).toBe(few);
    expect(latenessMs.filter((ms) => !(ms >= 0))).toEqual([]);
    expect(await wokenBySweeper()).toBe(0);
    const after = await open.sandbox.crmStats();
    expect(after).toMatchObject({ records: before.records + total, duplicateEffects: 0 });
  }, 300_000);

  it('are not needed: the sweeper alone wakes what waited on emptied ones', async () => {
    const before = await open.sandbox.crmStats();
    const total = await postRefused('emptied', few, { headers: { 'Retry-After': '6' } });
    await eventually(async () => expect(await waits.areAlone('emptied')).toBe(true));
    let emptied = 0;
    await restartWith(open.stack, {
      app: 'crm-writer',
      signal: 'SIGKILL',
      env: { SWEEP_MS: '1000' },
      whileDown: async () => {
        emptied = await waits.empty('emptied');
      },
    });
    const waiting = (await waits.states('emptied')).waiting ?? 0;
    await delivered('emptied', total);
    console.log(`${emptied} records deleted, ${waiting} leads waited for them, the sweeper woke ${await wokenBySweeper()}`);
    expect(waiting).toBeGreaterThan(0);
    expect(await wokenBySweeper()).toBeGreaterThanOrEqual(waiting);
    expect(await open.sandbox.crmStats()).toMatchObject({ records: before.records + total, duplicateEffects: 0 });
  }, 120_000);
});

/** Each refused lead is called again once, at its time, and no sweeper had a part in it. */
async function calledAtTheirTime(form: string, answer: Record<string, unknown> = {}): Promise<void> {
  const before = await open.sandbox.crmStats();
  const total = await postRefused(form, refusedLeads, answer);
  await delivered(form, total);
  const { records, again, latenessMs } = await waits.of(form);
  console.log(`${form}: ${records} waits on the tiers: attempt start minus ld-not-before ${percentiles(latenessMs)}`);
  expect(latenessMs.length).toBe(refusedLeads);
  expect(latenessMs.filter((ms) => !(ms >= 0))).toEqual([]);
  // A sweeper would have written another.
  expect({ records, again }).toEqual({ records: refusedLeads, again: 0 });
  expect(await wokenBySweeper()).toBe(0);
  expect(await open.sandbox.crmStats()).toMatchObject({ records: before.records + total, duplicateEffects: 0 });
}

/** Hands in three leads for each that is refused at first, and returns their number when all of those wait. */
async function postRefused(form: string, refused: number, answer: Record<string, unknown> = {}): Promise<number> {
  const total = refused * 3;
  for (let n = 0; n < total; n += atOnce) {
    // A rule for each few: it is used up before what it refused comes again.
    if (n % perRule === 0) {
      const times = Math.min(perRule, total - n) / 3;
      await open.sandbox.control({ operation: 'lead', campaign: later(form, n), status: 423, times, ...answer });
    }
    const size = Math.min(atOnce, total - n);
    await Promise.all(
      Array.from({ length: size }, (_, at) => post(form, { n: n + at, campaign: (n + at) % 3 === 2 ? later(form, n) : 'at-once' })),
    );
  }
  await eventually(async () => expect(await waits.refused(form)).toBe(refused), settleMs);
  return total;
}

const later = (form: string, n: number): string => `${form}-later-${Math.floor(n / perRule)}`;

async function post(form: string, { n, campaign }: { n: number; campaign: string }): Promise<void> {
  const { status } = await open.intake.post({ ...leadBody(`${form}-${n}`, n), form, campaign });
  if (status !== 202) throw new Error(`intake answered ${status}`);
}

const delivered = (destination: string, total: number): Promise<void> =>
  eventually(async () => expect(await waits.states(destination)).toEqual({ delivered: total }), settleMs);

/** Deliveries that the sweeper of the crm-writer that runs now has woken. */
const wokenBySweeper = (): Promise<number> => sumOf('leads_sweeper_wakeups_total');

/** Waiting deliveries of the destination are counted by whoever sweeps, and by nobody else. */
const seenBySweeper = (destination: string): Promise<void> =>
  eventually(async () => {
    expect(await sumOf('leads_deliveries', `destination="${destination}",state="waiting"`)).toBeGreaterThan(0);
  }, settleMs);

/** Sum of a metric of the crm-writer that runs now, over all its labels or those given. */
async function sumOf(metric: string, labels = '[^}]*'): Promise<number> {
  const answer = await fetch(open.endpoints().metrics['crm-writer'] ?? '');
  const counts = [...(await answer.text()).matchAll(new RegExp(`^${metric}\\{${labels}\\} (\\d+)$`, 'gm'))];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
