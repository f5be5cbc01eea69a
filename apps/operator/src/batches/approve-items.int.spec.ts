import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { JWK } from 'jose';
import { headers } from '#contracts';
import { openReplayGate, type ReplayGate } from '#delivery';
import { type Database, InternalUnavailable } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { deadLetterHeaders, deadRecord, historyOf, leadAccepted, openOperatorDatabase, PretendOwner, silent } from '../../test/rig.js';
import { readLetter } from '../dead-letters/read-letter.js';
import { deadLetterSources } from '../dead-letters/sources.js';
import { storeLetters } from '../dead-letters/store-letters.js';
import { Desk } from '../desk.js';
import { purge } from '../purge.js';
import { type ApproveTools, approveItems, approveRequest } from './approve-items.js';
import { batchStatesRoute, readBatch, stopBatch } from './batches.js';
import { followItems } from './follow-items.js';

jest.setTimeout(60_000);

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const asJwk = (key: typeof privateKey): JWK => ({ ...(key.export({ format: 'jwk' }) as JWK), kid: 'p1' });
const secretsDir = mkdtempSync(join(tmpdir(), 'approve-'));
writeFileSync(join(secretsDir, 'permit-public.json'), JSON.stringify({ keys: [asJwk(publicKey)] }));

const topic = 'lead.accepted.crm-writer.crm.dlq';
const sources = deadLetterSources(['crm']);
const policies = { default: { name: 'default', attempts: 4, deadlineMs: 4 * 3_600_000, maxAgeMs: 7 * 86_400_000 } };

let database: TestDatabase;
let db: Database;
let owner: PretendOwner;
let tools: ApproveTools;
let gate: ReplayGate;
let woken: number;

const sql = <R>(text: string, values: unknown[] = []) => db.sql<R>(createHash('sha1').update(text).digest('hex'), text, values);

beforeAll(async () => {
  database = await testDatabase('operator_approve');
  db = await openOperatorDatabase(database.url);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  for (const table of ['dead_letter', 'replay_batch', 'replay_item', 'outbox', 'audit']) await sql(`DELETE FROM ${table}`);
  owner = new PretendOwner();
  woken = 0;
  tools = {
    db,
    owners: new Map([['crm-writer', owner]]),
    site: { policies, destinations: { crm: {} }, channels: { sales: {} } } as never,
    privateKey: asJwk(privateKey),
    relayWake: () => {
      woken += 1;
    },
    logger: silent,
  };
  const operator = { post: async <T>(): Promise<T> => (await batchStatesRoute(db)()) as T };
  gate = openReplayGate({ secretsDir, operator, logger: silent });
});

/** A lead that is dead at its owner and has its letter here. */
async function dead(changes: Parameters<typeof leadAccepted>[0] = {}, failure = 'attempts_exhausted') {
  const lead = leadAccepted(changes);
  owner.add(historyOf(lead));
  const record = deadRecord(lead, { headers: deadLetterHeaders(lead, { [headers.errorClass]: failure }) });
  const source = sources.get(topic);
  if (source === undefined) throw new Error('no source');
  await storeLetters(db, [readLetter(record, source, lead)]);
  return { lead, record };
}
const request = (changes: Record<string, unknown> = {}) =>
  approveRequest.parse({ approver: 'ada', new_deadline: '4h', select: { destination: 'crm' }, ...changes });
const approve = (changes: Record<string, unknown> = {}) => approveItems(tools, request(changes), 'leadctl');
interface OutboxRecord {
  topic: string;
  key: Buffer;
  value: Buffer;
  headers: Record<string, string>;
}
const outbox = () => sql<OutboxRecord>('SELECT topic, key, value, headers FROM outbox ORDER BY id');
const consumed = (row: OutboxRecord) => ({
  ...row,
  partition: 0,
  offset: 0n,
  timestampMs: 0,
  headers: Object.fromEntries(Object.entries(row.headers).map(([name, text]) => [name, Buffer.from(text)])),
});
const verdicts = (approval: Awaited<ReturnType<typeof approve>>) => approval.items.map(({ verdict }) => verdict);
const follow = () => followItems(db, new Map([['crm-writer', owner]]), silent);

describe('an approval', () => {
  it('sends the very record to the replay topic, with a permit that the gate lets through', async () => {
    const { lead, record } = await dead();
    const approval = await approve({ reason: 'back again' });
    expect(approval).toMatchObject({ approved: 1, items: [{ event_id: lead.event_id, destination: 'crm', verdict: 'approved' }] });
    const [row] = await outbox();
    expect(row).toMatchObject({ topic: 'lead.accepted.crm-writer.crm.replay', key: record.key, value: record.value });
    expect(row?.headers).toMatchObject({
      [headers.eventId]: lead.event_id,
      [headers.destinations]: 'crm',
      [headers.deadlineAt]: String(Date.parse(String(approval.deadline_at))),
      [headers.originTopic]: 'lead.accepted',
      [headers.originOffset]: '77',
    });
    expect(Buffer.byteLength(JSON.stringify(row?.headers))).toBeLessThan(4_096);
    const verdict = await gate.admit(consumed(row as OutboxRecord));
    expect(verdict).toEqual({
      kind: 'item',
      permit: {
        batchId: approval.batch_id,
        itemId: approval.items[0]?.item_id,
        eventId: lead.event_id,
        destination: 'crm',
        operationKeys: [`${lead.event_id}:crm:contact`, `${lead.event_id}:crm:lead`],
        notAfter: new Date(String(approval.not_after)),
        deadlineAt: new Date(String(approval.deadline_at)),
        mappingVersion: undefined,
      },
    });
    expect(woken).toBe(1);
    expect(await readBatch(db, String(approval.batch_id))).toMatchObject({
      state: 'running',
      approver: 'ada',
      approved_by: 'leadctl',
      reason: 'back again',
      selection: { destination: 'crm' },
      items: [{ state: 'open', original_deadline_at: expect.stringContaining(lead.deadline_at.toISOString().slice(0, 19)) }],
    });
  });

  it('takes 50 at most, the oldest submissions first, and the rest with the next', async () => {
    const leads = [];
    for (let minute = 0; minute < 55; minute += 1) {
      leads.push((await dead({ submitted_at: new Date(Date.now() - (60 - minute) * 60_000) })).lead);
    }
    const first = await approve();
    expect(first.approved).toBe(50);
    expect(first.items.map(({ event_id }) => event_id)).toEqual(leads.slice(0, 50).map(({ event_id }) => event_id));
    const second = await approve();
    expect(second.items.filter(({ verdict }) => verdict === 'approved').map(({ event_id }) => event_id)).toEqual(
      leads.slice(50).map(({ event_id }) => event_id),
    );
    expect(await outbox()).toHaveLength(55);
  });

  it('asked for fifty times at once sends each item once', async () => {
    for (let count = 0; count < 8; count += 1) await dead();
    const approvals = await Promise.all(Array.from({ length: 50 }, () => approve()));
    expect(approvals.reduce((sum, { approved }) => sum + approved, 0)).toBe(8);
    expect(await outbox()).toHaveLength(8);
    expect(await sql('SELECT FROM replay_batch b WHERE NOT EXISTS (SELECT FROM replay_item i WHERE i.batch_id = b.batch_id)')).toEqual([]);
  });

  it.each([
    ['delivered', 'already_delivered'],
    ['erased', 'ended'],
    ['uncertain', 'uncertain'],
    ['waiting', 'in_progress'],
    ['in_flight', 'in_progress'],
    ['expired', 'approved'],
  ] as const)('of a delivery that is %s now comes to %s', async (state, verdict) => {
    const { lead } = await dead();
    owner.add(historyOf(lead, { state }));
    expect(verdicts(await approve())).toEqual([verdict]);
    expect(await outbox()).toHaveLength(verdict === 'approved' ? 1 : 0);
  });

  it('refuses what is too old to be of use, what its owner does not know, and the letter of an earlier round', async () => {
    await dead({ submitted_at: new Date(Date.now() - 8 * 86_400_000) });
    expect(verdicts(await approve())).toEqual(['too_old']);
    owner.known.clear();
    expect(verdicts(await approve())).toEqual(['not_found']);
    const { lead } = await dead({}, 'auth');
    owner.add(historyOf(lead, { deadline_at: '2031-01-01T00:00:00.000Z' }));
    expect(verdicts(await approve({ select: { class: 'auth' } }))).toEqual(['superseded']);
    expect(await outbox()).toEqual([]);
    expect(await sql('SELECT FROM replay_batch')).toEqual([]);
  });

  it.each([
    ['crm-writer', 'erp', 'destination erp is not in the site file any more'],
    ['notifier', 'lead/support/0f0f/lead_delivered', 'channel support is not in the site file any more'],
    ['intake', 'unrouted', 'the lead has no route'],
    ['intake', 'erp', 'destination erp is not in the site file any more'],
  ])(
    'of a letter of %s for %s is refused, says why, and puts nothing on a topic that nobody reads',
    async (service, destination, reason) => {
      const { lead } = await dead();
      await sql('UPDATE dead_letter SET service = $1, destination = $2', [service, destination]);
      owner.add({ ...historyOf(lead), destination });
      tools = { ...tools, owners: new Map([...['crm-writer', 'notifier'].map((name) => [name, owner] as const)]) };
      const approval = await approve({ select: { event_ids: [lead.event_id] } });
      expect(approval).toEqual({ approved: 0, items: [{ event_id: lead.event_id, destination, verdict: 'not_replayable', reason }] });
      expect(await outbox()).toEqual([]);
    },
  );

  it('finds the oldest among many thousand open letters', async () => {
    const { lead } = await dead({ submitted_at: new Date(Date.now() - 5 * 3_600_000) });
    await sql(`INSERT INTO dead_letter SELECT gen_random_uuid(), 'other:' || n, state, service, gen_random_uuid(), destination, lead_ref,
        organization, source, form, campaign, submission_ref, policy, test, operation_key, operation_kind, endpoint, class, code, status,
        reference, attempts, provider_request_id, traceparent, tracestate, submitted_at + n * interval '1 millisecond', first_seen_at,
        deadline_at, dead_at, received_at, owner, disposition, respond_by, delete_after, operations, history, found_by, topic, partition,
        record_offset, origin_topic, origin_partition, origin_offset, record_key, event, closed_at, closed_as, checked_at
      FROM dead_letter, generate_series(1, 20000) AS n`);
    const approval = await approve({ max: 1 });
    expect(approval.items.map(({ event_id }) => event_id)).toEqual([lead.event_id]);
  });

  it('selects by class and by event id', async () => {
    await dead({}, 'permanent');
    const { lead } = await dead({}, 'auth');
    expect((await approve({ select: { class: 'auth' } })).items.map(({ event_id }) => event_id)).toEqual([lead.event_id]);
    const other = await dead({}, 'auth');
    const byId = await approve({ select: { event_ids: [other.lead.event_id] } });
    expect(byId.items.map(({ event_id }) => event_id)).toEqual([other.lead.event_id]);
  });

  it('approves nothing while the owner cannot be asked', async () => {
    await dead();
    owner.down = true;
    await expect(approve()).rejects.toBeInstanceOf(InternalUnavailable);
    expect(await outbox()).toEqual([]);
  });

  it.each([
    [{ select: {} }],
    [{ select: { everything: true } }],
    [{ max: 51 }],
    [{ max: 0 }],
    [{ new_deadline: '25h' }],
    [{ new_deadline: 'soon' }],
    [{ approver: ' ' }],
  ])('that says %j is refused', (changes) => {
    const body = { approver: 'ada', new_deadline: '4h', select: { destination: 'crm' }, ...changes };
    expect(approveRequest.safeParse(body).success).toBe(false);
  });
});

describe('an approved item', () => {
  it.each([
    ['delivered', {}, 'succeeded'],
    ['erased', {}, 'ended'],
    ['waiting', {}, 'open'],
    ['dead', {}, 'open'],
    ['dead', { applied: true }, 'failed'],
  ] as const)('whose delivery is then %s %j is %s', async (state, { applied = false }: { applied?: boolean }, expected) => {
    const { lead } = await dead();
    const approval = await approve();
    owner.add(historyOf(lead, { state, ...(applied && { deadline_at: String(approval.deadline_at) }) }));
    await follow();
    const batch = await readBatch(db, String(approval.batch_id));
    expect(batch?.items.map((item) => item.state)).toEqual([expected]);
    expect(batch?.state).toBe(expected === 'open' ? 'running' : 'finished');
  });

  it('that failed may be approved again, one that is open may not', async () => {
    const { lead } = await dead();
    const first = await approve();
    expect(verdicts(await approve())).toEqual(['already_approved']);
    const again = historyOf(lead, { deadline_at: String(first.deadline_at) });
    owner.add(again);
    await follow();
    const texts = deadLetterHeaders(lead, { [headers.deadlineAt]: String(Date.parse(String(first.deadline_at))) });
    const source = sources.get(topic);
    if (source === undefined) throw new Error('no source');
    await storeLetters(db, [readLetter(deadRecord(lead, { headers: texts }), source, lead)]);
    expect(verdicts(await approve())).toEqual(['approved']);
  });

  it('of a stopped batch is let through no more, and is given up after its grace', async () => {
    await dead();
    const approval = await approve();
    const [row] = await outbox();
    expect(await gate.admit(consumed(row as OutboxRecord))).toMatchObject({ kind: 'item' });
    expect(await stopBatch(db, { batch_id: String(approval.batch_id), by: 'ada' })).toBe(true);
    expect(await stopBatch(db, { batch_id: String(approval.batch_id), by: 'ada' })).toBe(false);
    const fresh = openReplayGate({
      secretsDir,
      operator: { post: async <T>(): Promise<T> => (await batchStatesRoute(db)()) as T },
      logger: silent,
    });
    expect(await fresh.admit(consumed(row as OutboxRecord))).toEqual({ kind: 'refused', code: 'batch_ended' });
    await follow();
    expect((await readBatch(db, String(approval.batch_id)))?.items.map(({ state }) => state)).toEqual(['open']);
    await sql("UPDATE replay_batch SET ended_at = ended_at - interval '61 seconds'");
    await follow();
    expect(await readBatch(db, String(approval.batch_id))).toMatchObject({ state: 'stopped', items: [{ state: 'not_applied' }] });
  });
});

describe('the audit', () => {
  const entries = () =>
    sql<{ caller: string; person: string; action: string }>('SELECT caller, person, action, subject FROM audit ORDER BY audit_id');

  it('says who approved and who stopped', async () => {
    await dead();
    const { batch_id = '' } = await approve();
    await new Desk(tools).stop({ batch_id, by: 'eve' }, 'leadctl');
    expect(await entries()).toMatchObject([
      { caller: 'leadctl', person: 'ada', action: 'batch.approve', subject: { batch_id } },
      { caller: 'leadctl', person: 'eve', action: 'batch.stop', subject: { batch_id, stopped: true } },
    ]);
  });

  it('holds a command before it is sent, also one whose answer never came', async () => {
    const command = { command: 'hold', destination: 'crm', by: 'ada', reason: 'maintenance' } as const;
    await new Desk(tools).send({ service: 'crm-writer', command }, 'leadctl');
    owner.down = true;
    await expect(new Desk(tools).send({ service: 'crm-writer', command }, 'leadctl')).rejects.toBeInstanceOf(InternalUnavailable);
    expect(owner.commands).toEqual([command]);
    expect((await entries()).map(({ action }) => action)).toEqual(['delivery.hold', 'delivery.hold.answer', 'delivery.hold']);
  });
});

describe('what was approved', () => {
  const counts = async () => {
    const [row] = await sql<Record<string, number>>(`SELECT (SELECT count(*)::int FROM dead_letter) AS letters,
      (SELECT count(*)::int FROM replay_item) AS items, (SELECT count(*)::int FROM replay_batch) AS batches,
      (SELECT count(*)::int FROM audit) AS audited`);
    return row;
  };

  it('is deleted with the letters it was for, and never before their time or its end; who decided stays', async () => {
    await dead();
    await dead();
    const { batch_id } = await approve();
    await sql("UPDATE dead_letter SET state = 'closed'");
    await purge(db);
    expect(await counts()).toEqual({ letters: 2, items: 2, batches: 1, audited: 1 });

    await sql("UPDATE dead_letter SET delete_after = clock_now() - interval '1 minute'");
    await purge(db);
    expect(await counts()).toEqual({ letters: 2, items: 2, batches: 1, audited: 1 });

    await sql("UPDATE replay_item SET state = 'succeeded' WHERE item_id = (SELECT item_id FROM replay_item LIMIT 1)");
    expect(await purge(db)).toBe(1);
    expect(await counts()).toEqual({ letters: 1, items: 1, batches: 1, audited: 1 });

    await sql("UPDATE replay_item SET state = 'failed'");
    expect(await purge(db)).toBe(1);
    expect(await counts()).toEqual({ letters: 0, items: 0, batches: 1, audited: 1 });

    await sql("UPDATE replay_batch SET state = 'finished'");
    await purge(db);
    expect(await counts()).toEqual({ letters: 0, items: 0, batches: 0, audited: 1 });
    expect(await readBatch(db, String(batch_id))).toBeUndefined();
  });
});
