import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testSize } from '#testkit';
import { runBalance } from '../support/balance.js';
import { eventually } from '../support/eventually.js';
import { runLeadctl } from '../support/run-leadctl.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';
import { concurrency, forms, type Memory, most, TwoCrms, twoCrmSite } from '../support/two-crms.js';

/** One CRM of two is down for a while of real time, ten minutes in a long run, and leads for both keep arriving all the while. */
const long = testSize() === 'long';
const outageSeconds = long ? 600 : 60;
/** For each of the two. */
const perSecond = long ? 50 : 10;
/** Leads of each CRM before the outage. */
const warmUp = 2 * perSecond;
/**
 * New leads keep arriving until the first probe was answered and the backlog has drained, but no longer than this: a busy machine may take them
 * no faster than they come.
 */
const drainLimitMs = long ? 300_000 : 90_000;
const settleMs = long ? 900_000 : 180_000;

const site = twoCrmSite();
let open: OpenStack;

beforeAll(async () => {
  open = await openStack({ config: site.file, env: { TRACE_RATIO: '0.01' } });
}, 120_000);

afterAll(async () => {
  await open?.close();
  site.remove();
}, closeMs);

it(
  `has every lead of ${outageSeconds} s without a CRM there once when it is back, and those of the other CRM as if nothing had been`,
  async () => {
    const crms = new TwoCrms(open, perSecond);
    const { load } = crms;
    await crms.slowDown();
    load.start();
    await eventually(async () => {
      for (const form of forms) expect((await crms.stats(form)).records).toBeGreaterThan(warmUp);
    }, settleMs);

    const before = crms.memory();
    await crms.breakDown();
    const { records } = await crms.stats('broken');
    const during = await crms.mostMemory(outageSeconds);
    // Calls that were under way came to their end.
    const reached = (await crms.stats('broken')).records - records;
    const behind = load.accepted.broken - records;
    const steadyByThen = { accepted: load.accepted.steady, ...(await crms.stats('steady')) };
    const hits = await crms.comeBack();
    const rate = await crms.drain(drainLimitMs);
    const after = most(during, crms.memory());
    await load.stop();
    console.log(
      `${hits} requests met the outage, ${behind} leads waited at its end; drained at ${rate.toFixed(0)} leads/s; ` +
        `${steadyByThen.records} of ${steadyByThen.accepted} leads of the other CRM were there meanwhile; memory ${said(before)} before, at most ${said(after)}`,
    );
    expect(load.failed).toBe(0);
    expect(hits).toBeGreaterThan(0);
    expect(reached).toBeLessThanOrEqual(concurrency);
    expect(behind).toBeGreaterThan(perSecond);

    await eventually(async () => {
      for (const form of forms) expect(await crms.stats(form)).toMatchObject({ records: load.accepted[form], duplicateEffects: 0 });
    }, settleMs).catch(async (error: Error) => {
      console.log(await howItStands((await crms.notOnce()).slice(0, 20)));
      throw error;
    });
    expect(await crms.notOnce()).toEqual([]);
    const delivered = load.accepted.broken + load.accepted.steady;
    await eventually(async () => {
      expect(await runBalance(open.stack.runDir)).toMatchObject({ code: 0, balance: { balanced: true, found: { delivered } } });
    }, settleMs);
    expect(await runLeadctl(open.stack.runDir, 'dead-letters', 'list')).toMatchObject({ code: 0, answer: { items: [] } });
  },
  outageSeconds * 1_000 + drainLimitMs + 3 * settleMs,
);

/** What intake answers about the leads, named as `form id`. */
async function howItStands(leads: string[]): Promise<string> {
  const answers = leads.map(async (lead) => `${lead}: ${JSON.stringify((await open.intake.get(`/v1/leads/${lead.split(' ')[1]}`)).body)}`);
  return (await Promise.all(answers)).join('\n');
}

const said = ({ writer, intake }: Memory): string => `${writer.toFixed(0)} MB of crm-writer and ${intake.toFixed(0)} MB of intake`;
