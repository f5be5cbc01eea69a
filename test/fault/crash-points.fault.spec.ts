import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CrashPoint, crashPoints } from '#runtime';
import { testSize } from '#testkit';
import { scanStack } from '../privacy/scan-stack.js';
import { type CrashCase, CrashScene, inOrder, leaseMs } from '../support/crash-scene.js';
import { crashSite, type Door } from '../support/crash-site.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';

/**
 * A service is stopped dead at each step between two durable ones, for a CRM with native idempotency and for one without. Afterwards every
 * lead is at its CRM exactly once, and the chat has no message twice. A step without a case does not compile, and fails here.
 */
type Kind = Pick<CrashCase, 'app' | 'provoke' | 'operations'> & { doors: Door[] };
const both: Door[] = ['native', 'plain'];
/** One after the other, the first recorded before the second where the CRM knows no keys. */
const operations = ['contact', 'lead'];
const long = testSize() === 'long';

/** The cases on the main topic; all of them are run always. A lead of the native CRM is never marked, and need not be looked up. */
const onMain: Record<CrashPoint, Kind[]> = {
  claimed: [{ app: 'crm-writer', doors: both }],
  contact_taken: [{ app: 'crm-writer', doors: both, operations }],
  marked: [
    { app: 'crm-writer', doors: ['plain'] },
    { app: 'notifier', doors: ['native'] },
  ],
  sent: [{ app: 'crm-writer', doors: both }],
  answered: [
    { app: 'crm-writer', doors: both },
    { app: 'notifier', doors: ['native'] },
  ],
  part_recorded: [{ app: 'crm-writer', doors: ['plain'], operations }],
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

/** Of a record that goes through a tier; and, after its claim, of an approved item. */
const steps: CrashPoint[] = long
  ? ['claimed', 'marked', 'sent', 'answered', 'recorded', 'published', 'deleted', 'settled', 'committed']
  : ['claimed', 'sent', 'recorded'];
const replaySteps: CrashPoint[] = long ? steps.filter((point) => point !== 'claimed') : ['sent', 'recorded'];
/** With the CRMs that meet the point on the main topic; at the small size with one of them, in turn. */
const also = (points: CrashPoint[], provoke: CrashCase['provoke']) =>
  points.flatMap((point, at) =>
    onMain[point]
      .filter(({ app }) => app === 'crm-writer')
      .map((kind): [CrashPoint, Kind] => [point, { ...kind, provoke, doors: kind.doors.filter((_, door) => long || door === at % 2) }]),
  );

const kinds: [CrashPoint, Kind][] = [
  ...Object.entries(onMain).flatMap(([point, all]) => all.map((one): [CrashPoint, Kind] => [point as CrashPoint, one])),
  ...also(steps, 'a retry tier'),
  ...also(replaySteps, 'an approved item'),
];
const cases = inOrder(
  kinds
    .flatMap(([point, { doors, ...more }]) => doors.map((door) => ({ point, door, ...more })))
    .map((one, at): CrashCase => ({ ...one, name: `${one.door}-${at}`, title: titleOf(one) })),
);

let folder: string;
let open: OpenStack;
let scene: CrashScene;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'crash-points-'));
  const config = join(folder, 'site.yaml');
  writeFileSync(config, crashSite(cases));
  open = await openStack({ env: { LEASE_MS: String(leaseMs), SWEEP_MS: '1000', KAFKA_SESSION_TIMEOUT_MS: '3000' }, config });
  scene = new CrashScene(open);
  await scene.begin(cases);
}, 180_000);

afterAll(async () => {
  await scene?.close();
  await open?.close();
  rmSync(folder, { recursive: true, force: true });
}, closeMs);

describe('a crash', () => {
  it('has a case for every step that may crash', () => {
    expect(Object.keys(onMain).sort()).toEqual([...crashPoints].sort());
    expect(Object.values(onMain).filter((all) => all.length === 0)).toEqual([]);
  });

  it.each(cases.map((one) => [one.title, one] as const))('stops %s dead', (_title, one) => scene.crash(one), 240_000);

  it('costs no lead and doubles none, wherever it came', async () => {
    const accounts = await scene.settle(cases);
    console.log(`${accounts.leads} leads in ${cases.length} crashes`);
    expect(accounts.lost).toEqual([]);
    expect(accounts.doubled).toEqual([]);
    expect(accounts.notDelivered).toEqual([]);
    expect(accounts.untold).toEqual([]);
    expect(await open.sandbox.chatStats()).toMatchObject({ duplicates: 0 });
    expect(accounts.balance).toMatchObject({ code: 0 });
    expect(accounts.uneventful).toEqual([]);
  }, 400_000);

  it('leaves no personal data outside the vault, the topic leads and the destinations', async () => {
    // All others came over HTTP; the scan is proved by what it finds on the topic.
    await open.upstream.send([{ sourceEventId: 'planted', n: 0 }]);
    await scanStack(open.stack);
  }, 300_000);
});

function titleOf({ point, door, app, provoke }: Omit<CrashCase, 'name' | 'title'>): string {
  return `${app} at ${point} with the ${door} CRM${provoke === undefined ? '' : ` after ${provoke}`}`;
}
