import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePortRange, testSize } from '#testkit';
import { crashSite } from '../support/crash-site.js';
import { eventually } from '../support/eventually.js';
import { restartWith } from '../support/restart-with.js';
import { startSecondWriter } from '../support/second-writer.js';
import { type OpenStack, openStack } from '../support/stack.js';
import { percentiles } from '../support/tier-lateness.js';
import { TierWaits } from '../support/tier-waits.js';
import { leadBody } from '../support/traffic.js';

/**
 * Retry tiers of their real length under a whole crm-writer: what waits there is called at its time by the tiers alone, and by the sweeper
 * alone where their records are gone. Two of three leads succeed at once, so that the destination is not found to be failing.
 */
const refusedLeads = testSize() === 'long' ? 5_000 : 300;
const few = 40;
const atOnce = 30;
const perRule = 300;
const noSweeps = { SWEEP_MS: '86400000' };

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
}, 60_000);

describe('retry tiers', () => {
  it('have each lead called at its time with the sweeper off, and nothing early or twice', async () => {
    const total = await postRefused('calm', refusedLeads);
    await delivered('calm', total);
    const { records, again, latenessMs } = await waits.of('calm');
    console.log(`${records} waits on the tiers: attempt start minus ld-not-before ${percentiles(latenessMs)}`);
    expect(latenessMs.length).toBe(refusedLeads);
    expect(latenessMs.filter((ms) => !(ms >= 0))).toEqual([]);
    // A sweeper would have written another.
    expect({ records, again }).toEqual({ records: refusedLeads, again: 0 });
    expect(await wokenBySweeper()).toBe(0);
    expect(await open.sandbox.crmStats()).toMatchObject({ records: total, duplicateEffects: 0 });
  }, 400_000);

  it('resume while another member joins and leaves and the broker is restarted', async () => {
    const before = await open.sandbox.crmStats();
    const total = await postRefused('shaken', few, { headers: { 'Retry-After': '14' } });
    const [port = 0] = [await freePortRange(1)];
    const second = await startSecondWriter(open.stack, { config, env: noSweeps, port });
    await second.stop();
    console.log(`after the rebalances: ${JSON.stringify(await waits.states('shaken'))}`);
    expect((await waits.states('shaken')).waiting).toBe(few);
    await open.stack.restartInfra('kafka');
    await delivered('shaken', total);
    const { latenessMs } = await waits.of('shaken');
    console.log(`${latenessMs.length} waits over two rebalances and a restart: ${percentiles(latenessMs)}`);
    expect(latenessMs.length).toBe(few);
    expect(latenessMs.filter((ms) => !(ms >= 0))).toEqual([]);
    expect(await wokenBySweeper()).toBe(0);
    const after = await open.sandbox.crmStats();
    expect(after).toMatchObject({ records: before.records + total, duplicateEffects: 0 });
  }, 120_000);

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
  await eventually(async () => expect(await waits.refused(form)).toBe(refused), 60_000);
  return total;
}

const later = (form: string, n: number): string => `${form}-later-${Math.floor(n / perRule)}`;

async function post(form: string, { n, campaign }: { n: number; campaign: string }): Promise<void> {
  const { status } = await open.intake.post({ ...leadBody(`${form}-${n}`, n), form, campaign });
  if (status !== 202) throw new Error(`intake answered ${status}`);
}

const delivered = (destination: string, total: number): Promise<void> =>
  eventually(async () => expect(await waits.states(destination)).toEqual({ delivered: total }), 60_000);

/** Deliveries that the sweeper of the crm-writer that runs now has woken. */
async function wokenBySweeper(): Promise<number> {
  const answer = await fetch(open.endpoints().metrics['crm-writer'] ?? '');
  const counts = [...(await answer.text()).matchAll(/^leads_sweeper_wakeups_total\{[^}]*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
