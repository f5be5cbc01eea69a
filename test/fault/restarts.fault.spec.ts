import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { scanStack } from '../privacy/scan-stack.js';
import { eventually } from '../support/eventually.js';
import { LeadFlood } from '../support/lead-flood.js';
import { settleAccounts } from '../support/ledger.js';
import { type OpenStack, openStack } from '../support/stack.js';

/** Broker, database and registry go away and come back while leads come in; no process is stuck afterwards or restarts for ever. */
let open: OpenStack;

beforeAll(async () => {
  open = await openStack({ env: { LEASE_MS: '12000', SWEEP_MS: '1000', KAFKA_SESSION_TIMEOUT_MS: '6000' } });
}, 120_000);

afterAll(async () => {
  await open?.close();
}, 60_000);

it.each(['kafka', 'postgres', 'registry'] as const)(
  'loses no lead and doubles none while %s goes away and comes back',
  async (part) => {
    const { sandbox, intake, upstream } = open;
    const before = await sandbox.crmStats();
    const flood = new LeadFlood(intake, upstream, { prefix: `restart-${part}`, burst: 20, everyMs: 500 });
    flood.start();
    await eventually(() => expect(flood.accepted.size).toBeGreaterThan(40), 60_000);
    await open.stack.restartInfra(part);
    const atRestart = flood.accepted.size;
    await eventually(() => expect(flood.accepted.size).toBeGreaterThan(atRestart + 40), 120_000);
    await flood.stop();

    const ledger = await settleAccounts({ endpoints: open.endpoints(), flood, intake, timeoutMs: 180_000 });
    console.log(`${part}: ${ledger.accepted.size} leads accepted, ${ledger.uncertain.length} notifications uncertain`);
    expect(flood.refused).toEqual([]);
    expect(ledger.accepted.size).toBe(flood.total);
    expect(ledger.missing).toEqual([]);
    expect(ledger.doubled).toEqual([]);
    expect(ledger.untold).toEqual([]);
    expect(ledger.toldTwice).toEqual([]);
    const after = await sandbox.crmStats();
    expect(after.records - before.records).toBe(ledger.accepted.size);
    expect(after.duplicateEffects).toBe(0);
  },
  600_000,
);

it('is ready everywhere afterwards, with every process alive under one pid', async () => {
  const apps = Object.keys(open.endpoints().pids);
  await Promise.all(apps.map((app) => open.stack.ready(app)));
  const pids = { ...open.endpoints().pids };
  // A process that restarts for ever would have another pid by then; the longest restart pause of the supervisor is shorter than this.
  await new Promise((resolve) => setTimeout(resolve, 12_000));
  expect(open.endpoints().pids).toEqual(pids);
}, 120_000);

it('leaves no personal data outside the vault, the topic leads and the destinations', async () => {
  await scanStack(open.stack);
}, 300_000);
