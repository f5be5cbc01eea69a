import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CrashPoint, crashPoints } from '#runtime';
import { projectRoot, testSize } from '#testkit';
import { scanStack } from '../privacy/scan-stack.js';
import { type CrashCase, CrashScene, type Door } from '../support/crash-scene.js';
import { type OpenStack, openStack } from '../support/stack.js';

/**
 * A service is stopped dead at each step between two durable ones, for a CRM with native idempotency and for one without. Afterwards every
 * lead is at its CRM exactly once. A step without a case does not compile, and fails here.
 */
const both: Door[] = ['native', 'plain'];
const long = testSize() === 'long';

/** The cases on the main topic; all of them are run always. A lead of the native CRM is never marked, and need not be looked up. */
const onMain: Record<CrashPoint, CrashCase[]> = {
  claimed: [{ app: 'crm-writer', doors: both }],
  marked: [{ app: 'crm-writer', doors: ['plain'] }],
  sent: [{ app: 'crm-writer', doors: both }],
  answered: [{ app: 'crm-writer', doors: both }],
  recorded: [{ app: 'crm-writer', doors: both }],
  published: [
    { app: 'crm-writer', doors: both },
    { app: 'intake', doors: ['native'] },
  ],
  deleted: [
    { app: 'crm-writer', doors: both },
    { app: 'intake', doors: ['native'] },
  ],
  settled: [{ app: 'crm-writer', doors: both }],
  committed: [{ app: 'crm-writer', doors: both }],
  swept: [{ app: 'crm-writer', doors: both, provoke: 'leases that ran out' }],
  looked_up: [{ app: 'crm-writer', doors: ['plain'], provoke: 'an answer lost after the commit' }],
  verified: [{ app: 'crm-writer', doors: ['plain'], provoke: 'an answer lost after the commit' }],
  replay_claimed: [{ app: 'crm-writer', doors: both, provoke: 'an approved item' }],
};

const steps: CrashPoint[] = long ? ['claimed', 'sent', 'answered', 'recorded', 'settled', 'committed'] : ['claimed', 'sent', 'recorded'];
const alsoOn = (provoke: CrashCase['provoke']) =>
  steps.map((point): [CrashPoint, CrashCase] => [point, { app: 'crm-writer', doors: both, provoke }]);

const cases = [
  ...Object.entries(onMain).flatMap(([point, all]) => all.map((one) => [point as CrashPoint, one] as const)),
  ...alsoOn('a retry tier'),
  ...alsoOn('an approved item'),
].flatMap(([point, one]) => one.doors.map((door) => ({ point, door, app: one.app, provoke: one.provoke })));

let open: OpenStack;
let scene: CrashScene;

beforeAll(async () => {
  const env = { LEASE_MS: '6000', SWEEP_MS: '1000', KAFKA_SESSION_TIMEOUT_MS: '3000' };
  open = await openStack({ env, config: join(projectRoot(), 'test', 'fault', 'sites', 'crash-points.yaml') });
  scene = new CrashScene(open);
  await scene.begin();
}, 180_000);

afterAll(async () => {
  await open?.close();
}, 60_000);

describe('a crash', () => {
  it('has a case for every step that may crash', () => {
    expect(Object.keys(onMain).sort()).toEqual([...crashPoints].sort());
    expect(Object.values(onMain).filter((all) => all.length === 0)).toEqual([]);
  });

  it.each(cases.map((one) => [nameOf(one), one] as const))(
    'stops %s dead',
    async (name, { point, door, app, provoke }) => {
      await scene.crash(name, { point, door, app, provoke });
    },
    240_000,
  );

  it('costs no lead and doubles none, wherever it came', async () => {
    const accounts = await scene.settle(cases.map(nameOf));
    console.log(`${accounts.leads} leads in ${cases.length} crashes`);
    expect(accounts.lost).toEqual([]);
    expect(accounts.doubled).toEqual([]);
    expect(accounts.notDelivered).toEqual([]);
    expect(await open.sandbox.chatStats()).toMatchObject({ duplicates: 0 });
    expect(accounts.balance).toMatchObject({ code: 0 });
    expect(accounts.uneventful).toEqual([]);
  }, 400_000);

  it('leaves no personal data outside the vault, the topic leads and the destinations', async () => {
    await scanStack(open.stack);
  }, 300_000);
});

function nameOf({ point, door, app, provoke }: { point: CrashPoint; door: Door; app: string; provoke?: string }): string {
  return `${app} at ${point} with the ${door} CRM${provoke === undefined ? '' : ` after ${provoke}`}`;
}
