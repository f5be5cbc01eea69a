import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { failurePolicies, headers, LeadAcceptedEvent } from '#contracts';
import type { ConsumedRecord, Receipt, Received } from '#messaging';
import { type Database, InternalUnavailable, metrics, newEventId } from '#runtime';
import { eventually, type TestDatabase, testDatabase } from '#testkit';
import {
  codec,
  deadLetterHeaders,
  deadRecord,
  historyOf,
  leadAccepted,
  openOperatorDatabase,
  PretendOwner,
  silent,
  traceId,
} from '../../test/rig.js';
import { purge } from '../purge.js';
import { DeadLetterInbox } from './dead-letter-inbox.js';
import { DeliveryCheck } from './delivery-check.js';
import { dismissLetter } from './dismiss-letter.js';
import { LetterFollower } from './follow-letters.js';
import { everywhere } from './letter-filter.js';
import * as lists from './list-letters.js';
import { deadLetterSources } from './sources.js';

jest.setTimeout(60_000);

const crmDlq = 'lead.accepted.crm-writer.crm.dlq';

let database: TestDatabase;
let db: Database;
let owner: PretendOwner;
let inbox: DeadLetterInbox;
let paused: string[];
let failures: unknown[];

const showLetters = (from: Database, eventId: string) => lists.showLetters(from, eventId, everywhere);
const listLetters = (from: Database, request: lists.ListRequest) => lists.listLetters(from, request, everywhere);
const sql = <R>(text: string, values: unknown[] = []) => db.sql<R>(createHash('sha1').update(text).digest('hex'), text, values);
const site = { destinations: { crm: { baseUrl: 'https://user:secret@example.test/api?key=1' } }, channels: { sales: {} } } as never;

beforeAll(async () => {
  database = await testDatabase('operator_letters');
  db = await openOperatorDatabase(database.url);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});
beforeEach(() => {
  owner = new PretendOwner();
  paused = [];
  failures = [];
  inbox = new DeadLetterInbox({
    db,
    codec,
    sources: deadLetterSources(['crm', 'erp']),
    owners: new Map([['crm-writer', owner]]),
    site,
    control: () => ({
      pause: (reason, where) => paused.push(`${reason} ${JSON.stringify(where)}`),
      resume: () => paused.pop(),
      fail: (error) => failures.push(error),
    }),
    logger: silent,
    firstPauseMs: 10,
  });
});

interface Handed extends Received<Buffer | null> {
  settled: number;
}
function handed(record: ConsumedRecord): Handed {
  const one: Handed = {
    settled: 0,
    receipt: {
      record,
      settle: () => {
        one.settled += 1;
      },
      redeliverIn: () => {},
      stale: false,
    } satisfies Receipt,
    result: { ok: true, event: record.value },
  };
  return one;
}
async function stored(...records: ConsumedRecord[]): Promise<Handed[]> {
  const all = records.map(handed);
  inbox.take(all);
  await eventually('all settled', () => all.every(({ settled }) => settled === 1));
  return all;
}

describe('a dead letter', () => {
  it('is stored complete, with the history its owner has of it', async () => {
    const lead = leadAccepted();
    owner.add(historyOf(lead));
    const record = deadRecord(lead);
    await stored(record);
    const [letter, ...others] = (await showLetters(db, lead.event_id)).items;
    expect(others).toEqual([]);
    const policy = failurePolicies.attempts_exhausted;
    expect(letter).toMatchObject({
      state: 'open',
      service: 'crm-writer',
      destination: 'crm',
      lead_ref: lead.lead_ref,
      organization: 'demo',
      source: 'website',
      form: 'contact',
      campaign: 'autumn',
      submission_ref: 'v1:submission',
      operation_key: `${lead.event_id}:crm:lead`,
      operation_kind: 'lead',
      endpoint: 'https://example.test/api',
      class: 'attempts_exhausted',
      code: 'http_503',
      status: 503,
      attempts: 4,
      provider_request_id: 'req-3',
      trace_id: traceId,
      submitted_at: lead.submitted_at,
      first_seen_at: new Date(lead.submitted_at.getTime() + 500),
      deadline_at: lead.deadline_at,
      dead_at: new Date(record.timestampMs),
      owner: policy.owner,
      disposition: policy.disposition,
      respond_by: new Date(record.timestampMs + policy.respondWithinMs),
      delete_after: new Date(record.timestampMs + policy.deleteAfterMs),
      next_action: policy.nextAction,
      runbook: policy.runbook,
      found_by: 'topic',
      topic: record.topic,
      origin_topic: 'lead.accepted',
      origin_offset: '77',
    });
    expect(letter?.history.map(({ outcome, status, provider_request_id }) => [outcome, status, provider_request_id])).toEqual([
      ['succeeded', 201, 'req-contact'],
      ['transient', 503, 'req-3'],
      ['transient', undefined, undefined],
    ]);
    expect(letter?.operations.map(({ kind, state }) => `${kind} ${state}`)).toEqual(['contact succeeded', 'lead dead']);
    const [bytes] = await sql<{ record_key: Buffer; event: Buffer }>('SELECT record_key, event FROM dead_letter WHERE event_id = $1', [
      lead.event_id,
    ]);
    expect([bytes?.record_key, bytes?.event]).toEqual([record.key, record.value]);
  });

  it('is one row however often its record comes, also within one batch', async () => {
    const lead = leadAccepted();
    owner.add(historyOf(lead));
    await stored(deadRecord(lead), deadRecord(lead, { offset: 2n }));
    await stored(deadRecord(lead, { offset: 3n }));
    expect((await showLetters(db, lead.event_id)).items).toHaveLength(1);
  });

  it('of a later round is another row: an approved item brought a new deadline', async () => {
    const lead = leadAccepted();
    owner.add(historyOf(lead));
    const later = deadLetterHeaders(lead, { [headers.deadlineAt]: String(lead.deadline_at.getTime() + 1) });
    await stored(deadRecord(lead), deadRecord(lead, { headers: later, offset: 2n }));
    expect((await showLetters(db, lead.event_id)).items).toHaveLength(2);
  });

  it.each([
    ['is no event', Buffer.from('Quince Zebra, quince@example.test')],
    ['has an id that nobody knows', Buffer.concat([Buffer.from([0, 0, 9, 9, 9]), Buffer.from('Quince Zebra')])],
  ])('whose value %s is known by its coordinates; the bytes, which may hold anything, are not kept', async (_, value) => {
    const lead = leadAccepted();
    const texts = deadLetterHeaders(lead, { [headers.errorClass]: 'decode', [headers.errorCode]: 'not_avro' });
    const offset = BigInt(Math.floor(Math.random() * 1e9));
    texts[headers.originOffset] = String(offset);
    await stored(deadRecord(lead, { headers: texts, value, offset }));
    const [row] = await sql<Record<string, unknown>>('SELECT * FROM dead_letter WHERE origin_offset = $1', [offset]);
    expect(row).toMatchObject({
      class: 'decode',
      topic: 'lead.accepted.crm-writer.crm.dlq',
      record_offset: String(offset),
      destination: 'crm',
    });
    expect([row?.event, row?.record_key, row?.lead_ref]).toEqual([null, null, null]);
    expect(JSON.stringify(row)).not.toContain('Quince');
    expect(owner.asked.histories).toBe(0);
  });

  it('of a refused lead names where the sealed original is, and is asked of nobody', async () => {
    const id = newEventId();
    const texts = { [headers.errorClass]: 'invalid', [headers.errorCode]: 'fields', [headers.errorRef]: `rejected:${id}` };
    const record = deadRecord(leadAccepted(), { topic: 'leads.intake.dlq', headers: texts, key: null, value: null });
    await stored(record, { ...record, offset: 9n });
    const rows = await sql<Record<string, unknown>>('SELECT * FROM dead_letter WHERE reference = $1', [`rejected:${id}`]);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ service: 'intake', class: 'invalid', owner: 'source', event_id: id, destination: 'rejected' });
  });

  it('without a route is the delivery "unrouted" of its lead', async () => {
    const lead = leadAccepted({ destinations: [] });
    const texts = { [headers.errorClass]: 'routing', [headers.errorCode]: 'no_rule', [headers.errorRef]: `lead:${lead.lead_ref}` };
    await stored(deadRecord(lead, { topic: 'leads.intake.dlq', headers: texts }));
    expect((await showLetters(db, lead.event_id)).items).toMatchObject([
      { destination: 'unrouted', service: 'intake', lead_ref: lead.lead_ref },
    ]);
  });

  it.each([
    ['that can be read', (record: ConsumedRecord) => record],
    ['that cannot be read', (record: ConsumedRecord) => ({ ...record, value: Buffer.from('no event') })],
  ])('of each destination that was taken out of the site file is a row of its own, with a record %s', async (_, made) => {
    const lead = leadAccepted({ destinations: ['crm-one', 'crm-two'] });
    const letter = (destination: string, offset: bigint) => {
      const texts = deadLetterHeaders(lead, {
        [headers.destinations]: destination,
        [headers.errorClass]: 'routing',
        [headers.errorCode]: 'unknown_destination',
        [headers.errorRef]: `lead:${lead.lead_ref}`,
      });
      return made(deadRecord(lead, { topic: 'leads.intake.dlq', headers: texts, offset }));
    };
    await stored(letter('crm-one', 1n), letter('crm-two', 2n), letter('crm-one', 3n));
    expect((await showLetters(db, lead.event_id)).items).toMatchObject([
      { destination: 'crm-one', service: 'intake', code: 'unknown_destination', lead_ref: lead.lead_ref },
      { destination: 'crm-two', service: 'intake', code: 'unknown_destination', lead_ref: lead.lead_ref },
    ]);
  });

  it('with header values that nobody should send is stored all the same', async () => {
    const lead = leadAccepted();
    const texts = deadLetterHeaders(lead, {
      [headers.errorCode]: 'a\u0000b\ud800',
      [headers.attempts]: '99999999999999999999',
      [headers.errorStatus]: '-1',
      [headers.originPartition]: 'x',
      [headers.firstSeenAt]: '999999999999999999',
      [headers.errorClass]: 'made_up',
      [headers.deadlineAt]: 'never',
    });
    await stored(deadRecord(lead, { headers: texts, timestampMs: -1 }));
    expect((await showLetters(db, lead.event_id)).items).toMatchObject([
      { class: 'made_up', attempts: 0, status: null, owner: 'integration' },
    ]);
    expect(failures).toEqual([]);
  });
});

describe('while something is away', () => {
  it('its owner keeps the topic waiting: nothing is stored, settled or dropped, and other topics go on', async () => {
    const [held, free] = [leadAccepted(), leadAccepted()];
    owner.add(historyOf(held));
    owner.down = true;
    const waiting = handed(deadRecord(held));
    inbox.take([waiting]);
    await eventually('the topic to pause', () => paused.some((pause) => pause.startsWith('owner') && pause.includes(crmDlq)));
    const texts = { [headers.errorClass]: 'routing', [headers.errorRef]: `lead:${free.lead_ref}` };
    await stored(deadRecord(free, { topic: 'leads.intake.dlq', headers: texts }));
    expect((await showLetters(db, held.event_id)).items).toEqual([]);
    expect(waiting.settled).toBe(0);
    owner.down = false;
    await eventually('the letter', () => waiting.settled === 1);
    expect((await showLetters(db, held.event_id)).items[0]?.history).toHaveLength(3);
    expect(paused).toEqual([]);
  });

  it('a stop leaves what is not stored to the next start', async () => {
    const lead = leadAccepted();
    owner.down = true;
    const waiting = handed(deadRecord(lead));
    inbox.take([waiting]);
    await eventually('the topic to pause', () => paused.length > 0);
    await inbox.stop();
    expect(waiting.settled).toBe(0);
    expect(failures).toEqual([]);
  });
});

describe('the check of what owners have unresolved', () => {
  const rig = () => {
    const time = { elapsedMs: 0 };
    const check = new DeliveryCheck({
      db,
      codec,
      site,
      owners: new Map([['crm-writer', owner]]),
      logger: silent,
      elapsedMs: () => time.elapsedMs,
    });
    return { check, time };
  };
  const unresolved = (lead: ReturnType<typeof leadAccepted>, state: 'dead' | 'expired' | 'uncertain' = 'dead') => {
    const { deadline_at, submitted_at } = historyOf(lead);
    const item = {
      event_id: lead.event_id,
      destination: 'crm',
      state,
      class: 'attempts_exhausted',
      code: 'http_503',
      lead_ref: lead.lead_ref,
    };
    owner.unresolvedItems.push({ ...item, generation: 1, since: new Date().toISOString(), submitted_at, deadline_at });
  };

  it('fetches a dead letter that is missing for 30 s, and its record with it', async () => {
    const lead = leadAccepted();
    const event = codec.encode(LeadAcceptedEvent, lead);
    owner.add(historyOf(lead, { event: event.toString('base64'), record_key: Buffer.from('person').toString('base64') }));
    unresolved(lead);
    const { check, time } = rig();
    await check.run();
    time.elapsedMs = 29_999;
    await check.run();
    expect((await showLetters(db, lead.event_id)).items).toEqual([]);
    time.elapsedMs = 30_000;
    await check.run();
    expect((await showLetters(db, lead.event_id)).items).toMatchObject([
      {
        found_by: 'check',
        class: 'attempts_exhausted',
        form: 'contact',
        provider_request_id: 'req-3',
        operation_kind: 'lead',
        status: 503,
      },
    ]);
    // Its record comes after all: the same letter, now with its coordinates.
    await stored(deadRecord(lead));
    expect((await showLetters(db, lead.event_id)).items).toMatchObject([{ topic: 'lead.accepted.crm-writer.crm.dlq' }]);
  });

  it('fetches the letter of a lead without a route from intake, and knows it again when its record comes', async () => {
    const lead = leadAccepted({ destinations: [] });
    const about = { event_id: lead.event_id, destination: 'unrouted', class: 'routing', code: 'no_route' };
    const { submitted_at, deadline_at } = historyOf(lead);
    owner.unresolvedItems.push({
      ...{ ...about, state: 'dead', lead_ref: lead.lead_ref, generation: 1 },
      ...{ since: new Date().toISOString(), submitted_at, deadline_at },
    });
    const event = codec.encode(LeadAcceptedEvent, lead).toString('base64');
    owner.add(historyOf(lead, { ...about, operations: [], attempts: [], event, record_key: Buffer.from('person').toString('base64') }));
    const time = { elapsedMs: 0 };
    const owners = new Map([['intake', owner]]);
    const check = new DeliveryCheck({ db, codec, site, owners, logger: silent, elapsedMs: () => time.elapsedMs });
    await check.run();
    time.elapsedMs = 30_000;
    await check.run();
    const letter = { service: 'intake', destination: 'unrouted', class: 'routing', organization: 'demo', form: 'contact', attempts: 0 };
    expect((await showLetters(db, lead.event_id)).items).toMatchObject([{ ...letter, found_by: 'check' }]);
    const texts = { [headers.errorClass]: 'routing', [headers.errorCode]: 'no_route', [headers.errorRef]: `lead:${lead.lead_ref}` };
    await stored(deadRecord(lead, { topic: 'leads.intake.dlq', headers: texts }));
    expect((await showLetters(db, lead.event_id)).items).toMatchObject([{ ...letter, topic: 'leads.intake.dlq' }]);
  });

  it.each(['decode', 'invalid', 'unknown_source', 'conflict', 'oversize'])(
    'fetches the letter of a record that intake refused as %s once more when it is lost, as it was',
    async (failure) => {
      const id = newEventId();
      const texts = { [headers.errorClass]: failure, [headers.errorCode]: 'a_code', [headers.errorRef]: `rejected:${id}` };
      const record = deadRecord(leadAccepted(), { topic: 'leads.intake.dlq', headers: texts, key: null, value: null });
      await stored(record);
      const read = async () => {
        const left = 'dead_letter_id, received_at, checked_at, found_by, topic, partition, record_offset, traceparent, tracestate';
        const kept = left.split(', ').map((name) => `'${name}'`);
        const text = `SELECT to_jsonb(d) - ARRAY[${kept.join(', ')}] AS letter, found_by FROM dead_letter d WHERE reference = $1`;
        return sql<{ letter: object; found_by: string }>(text, [`rejected:${id}`]);
      };
      const [before] = await read();
      await sql('DELETE FROM dead_letter WHERE reference = $1', [`rejected:${id}`]);
      const at = new Date(record.timestampMs).toISOString();
      owner.unresolvedItems.push({
        ...{
          event_id: id,
          destination: 'rejected',
          state: 'dead',
          class: failure,
          code: 'a_code',
          lead_ref: `rejected:${id}`,
          generation: 1,
        },
        ...{ since: at, submitted_at: at, deadline_at: new Date(record.timestampMs + 90 * 86_400_000).toISOString() },
      });
      const time = { elapsedMs: 0 };
      const owners = new Map([['intake', owner]]);
      const check = new DeliveryCheck({ db, codec, site, owners, logger: silent, elapsedMs: () => time.elapsedMs });
      await check.run();
      time.elapsedMs = 30_000;
      await check.run();
      const found = await read();
      expect(found).toEqual([{ letter: before?.letter, found_by: 'check' }]);
      // Its record comes after all: the same letter.
      await stored(record);
      expect(await read()).toHaveLength(1);
    },
  );

  it('fetches the letter of a lead that belongs to nobody once more when it is lost', async () => {
    const lead = leadAccepted();
    const destination = 'lead/sales/0f0f/lead_delivered';
    const { submitted_at, deadline_at } = historyOf(lead);
    owner.unresolvedItems.push({
      ...{ event_id: lead.event_id, destination, state: 'dead', class: 'unknown_owner', code: 'no_owner', lead_ref: lead.lead_ref },
      ...{ generation: 1, since: new Date().toISOString(), submitted_at, deadline_at },
    });
    const time = { elapsedMs: 0 };
    const owners = new Map([['notifier', owner]]);
    const check = new DeliveryCheck({ db, codec, site, owners, logger: silent, elapsedMs: () => time.elapsedMs });
    const lettersOf = async () => (await showLetters(db, lead.event_id)).items;
    await check.run();
    for (const again of [1, 2]) {
      time.elapsedMs = again * 30_000;
      await check.run();
      time.elapsedMs += 30_000;
      await check.run();
      expect(await lettersOf()).toMatchObject([{ class: 'unknown_owner', destination, service: 'notifier', owner: 'sales_operations' }]);
      await sql('DELETE FROM dead_letter WHERE event_id = $1', [lead.event_id]);
    }
  });

  it('finds every letter that came by its topic, on all pages, whatever state the delivery ended in', async () => {
    const leads = Array.from({ length: 5 }, () => leadAccepted());
    const ends = ['dead', 'expired', 'uncertain', 'dead', 'expired'] as const;
    const classes = { dead: 'attempts_exhausted', expired: 'deadline_exceeded', uncertain: 'unverified_write' };
    owner.pageSize = 2;
    for (const [index, lead] of leads.entries()) {
      const state = ends[index] as (typeof ends)[number];
      owner.add(historyOf(lead, { state }));
      unresolved(lead, state);
      await stored(deadRecord(lead, { headers: deadLetterHeaders(lead, { [headers.errorClass]: classes[state] }) }));
    }
    const { check, time } = rig();
    await check.run();
    time.elapsedMs = 60_000;
    const asked = owner.asked.histories;
    await check.run();
    expect(owner.asked.unresolved).toBe(6);
    expect(owner.asked.histories).toBe(asked);
  });

  it.each([1, 2, 500])('passes by one that its owner cannot give, pages of %s, and comes back to it', async (pageSize) => {
    const leads = Array.from({ length: 5 }, () => leadAccepted());
    owner.pageSize = pageSize;
    for (const lead of leads) {
      owner.add(historyOf(lead));
      unresolved(lead);
    }
    const broken = leads[1]?.event_id ?? '';
    owner.unanswerable.add(broken);
    const { check, time } = rig();
    const lettersOf = async () => {
      const found = await Promise.all(leads.map(async ({ event_id }) => (await showLetters(db, event_id)).items.length));
      return found.join('');
    };
    await check.run();
    time.elapsedMs = 30_000;
    await check.run();
    expect(await lettersOf()).toBe('10111');
    owner.unanswerable.clear();
    await check.run();
    expect(await lettersOf()).toBe('11111');
  });

  it('passes by however many its owner cannot give', async () => {
    const leads = Array.from({ length: 20 }, () => leadAccepted());
    for (const lead of leads) {
      owner.add(historyOf(lead));
      unresolved(lead);
    }
    for (const { event_id } of leads.slice(0, 18)) owner.unanswerable.add(event_id);
    const { check, time } = rig();
    await check.run();
    time.elapsedMs = 30_000;
    for (let round = 0; round < 5; round += 1) await check.run();
    for (const { event_id } of leads.slice(18)) expect((await showLetters(db, event_id)).items).toHaveLength(1);
  });

  it('counts as done only once nothing is lacking', async () => {
    const lead = leadAccepted();
    owner.add(historyOf(lead));
    unresolved(lead);
    owner.unanswerable.add(lead.event_id);
    metrics.deadLetterCheckedAt.set({ service: 'crm-writer' }, 0);
    const checkedAt = async () =>
      (await metrics.deadLetterCheckedAt.get()).values.find(({ labels }) => labels.service === 'crm-writer')?.value;
    const { check, time } = rig();
    time.elapsedMs = 1;
    await check.run();
    metrics.deadLetterCheckedAt.set({ service: 'crm-writer' }, 0);
    time.elapsedMs = 60_000;
    await check.run();
    expect(await checkedAt()).toBe(0);
    owner.unanswerable.clear();
    await check.run();
    expect(await checkedAt()).toBeGreaterThan(0);
  });

  it('waits for an owner that is down', async () => {
    owner.down = true;
    const { check } = rig();
    await expect(check.run()).resolves.toBeUndefined();
  });
});

describe('an open letter', () => {
  const tools = () => ({ db, site, owners: new Map([...['crm-writer', 'notifier'].map((name) => [name, owner] as const)]) });
  const idOf = async (lead: ReturnType<typeof leadAccepted>) => String((await showLetters(db, lead.event_id)).items[0]?.dead_letter_id);
  const dismiss = async (lead: ReturnType<typeof leadAccepted>) =>
    dismissLetter(tools(), { dead_letter_id: await idOf(lead), by: 'ada', reason: 'handed over' }, 'leadctl');
  const auditOf = async (lead: ReturnType<typeof leadAccepted>) => {
    const text = "SELECT subject FROM audit WHERE subject ->> 'dead_letter_id' = $1 ORDER BY audit_id";
    return (await sql<{ subject: object }>(text, [await idOf(lead)])).map(({ subject }) => subject);
  };

  it.each([
    ['delivered', 'delivered', {}],
    ['discarded', 'discarded', {}],
    ['erased', 'erased', {}],
    ['dead', null, {}],
    ['waiting', null, {}],
    ['dead', 'superseded', { deadline_at: '2030-01-01T00:00:00.000Z' }],
  ] as const)('whose delivery is now %s is closed as %s', async (state, as, changes) => {
    const lead = leadAccepted();
    owner.add(historyOf(lead));
    await stored(deadRecord(lead));
    owner.add(historyOf(lead, { state, ...changes }));
    await new LetterFollower({ db, owners: new Map([['crm-writer', owner]]), logger: silent }).run();
    expect((await showLetters(db, lead.event_id)).items).toMatchObject([{ closed_as: as, state: as === null ? 'open' : 'closed' }]);
  });

  it('without a delivery behind it is closed by a person, any other by its delivery alone', async () => {
    const [unrouted, unowned, own] = [leadAccepted(), leadAccepted(), leadAccepted()];
    const routing = { [headers.errorClass]: 'routing', [headers.errorRef]: `lead:${unrouted.lead_ref}` };
    for (const lead of [unowned, own]) owner.add(historyOf(lead));
    await stored(
      deadRecord(unrouted, { topic: 'leads.intake.dlq', headers: routing }),
      deadRecord(unowned, { headers: deadLetterHeaders(unowned, { [headers.errorClass]: 'unknown_owner' }) }),
      deadRecord(own),
    );
    owner.add(historyOf(unowned, { state: 'delivered' }));
    await new LetterFollower({ db, owners: new Map([['crm-writer', owner]]), logger: silent }).run();
    const outcomes: string[] = [];
    for (const lead of [unrouted, unowned, own]) outcomes.push((await dismiss(lead)).outcome);
    expect(outcomes).toEqual(['dismissed', 'dismissed', 'delivery_decides']);
    expect((await showLetters(db, unrouted.event_id)).items).toMatchObject([{ state: 'closed', closed_as: 'dismissed' }]);
    expect(await dismiss(unrouted)).toEqual({ dismissed: false, outcome: 'closed_before' });
    const unknown = { dead_letter_id: newEventId(), by: 'ada', reason: 'handed over' };
    expect(await dismissLetter(tools(), unknown, 'leadctl')).toEqual({ dismissed: false, outcome: 'unknown_letter' });
  });

  it('whose delivery its owner has deleted is closed by a person, and the audit says so', async () => {
    const lead = leadAccepted();
    owner.add(historyOf(lead));
    await stored(deadRecord(lead));
    expect(await dismiss(lead)).toEqual({ dismissed: false, outcome: 'delivery_decides' });
    owner.known.clear();
    expect(await dismiss(lead)).toEqual({ dismissed: true, outcome: 'row_gone' });
    expect((await showLetters(db, lead.event_id)).items).toMatchObject([{ state: 'closed', closed_as: 'row_gone' }]);
    expect(await auditOf(lead)).toMatchObject([
      { dismissed: false, outcome: 'delivery_decides', delivery_state: 'dead' },
      { dismissed: true, outcome: 'row_gone', reason: 'handed over' },
    ]);
    const about = `SELECT organization FROM audit WHERE action = 'dead_letter.dismiss' AND subject->>'dead_letter_id' = $1`;
    const noted = [{ organization: lead.organization }, { organization: lead.organization }];
    expect(await db.sql('spec.organization', about, [await idOf(lead)])).toEqual(noted);
  });

  it.each([
    ['dead', 'destination_removed'],
    ['expired', 'destination_removed'],
    ['uncertain', 'destination_removed'],
    ['waiting', 'delivery_decides'],
    ['in_flight', 'delivery_decides'],
  ] as const)('of a destination that was removed, with its delivery %s, comes to %s', async (state, outcome) => {
    const lead = leadAccepted();
    owner.add({ ...historyOf(lead, { state }), destination: 'erp' });
    await stored(deadRecord(lead, { topic: 'lead.accepted.crm-writer.erp.dlq' }));
    expect(await dismiss(lead)).toMatchObject({ outcome });
    expect(await auditOf(lead)).toMatchObject([{ outcome, delivery_state: state }]);
  });

  it('about a notification is for a person once its channel was removed', async () => {
    const [gone, there] = [leadAccepted(), leadAccepted()];
    for (const [lead, channel] of [
      [gone, 'support'],
      [there, 'sales'],
    ] as const) {
      const destination = `lead/${channel}/0f0f/lead_delivered`;
      owner.add({ ...historyOf(lead), destination });
      owner.add(historyOf(lead));
      await stored(deadRecord(lead));
      await sql("UPDATE dead_letter SET service = 'notifier', destination = $2 WHERE event_id = $1", [lead.event_id, destination]);
    }
    expect(await dismiss(gone)).toEqual({ dismissed: true, outcome: 'destination_removed' });
    expect(await dismiss(there)).toEqual({ dismissed: false, outcome: 'delivery_decides' });
  });

  it('stays open while its owner cannot be asked', async () => {
    const lead = leadAccepted();
    owner.add(historyOf(lead));
    await stored(deadRecord(lead));
    owner.down = true;
    await expect(dismiss(lead)).rejects.toBeInstanceOf(InternalUnavailable);
    expect((await showLetters(db, lead.event_id)).items).toMatchObject([{ state: 'open' }]);
  });

  it('is never deleted; a closed one is, once its time is over', async () => {
    await sql("UPDATE dead_letter SET delete_after = clock_now() - interval '1 day'");
    const [before] = await sql<{ open: string }>("SELECT count(*) AS open FROM dead_letter WHERE state = 'open'");
    expect(await purge(db)).toBeGreaterThan(0);
    const [after] = await sql<{ open: string; closed: string }>(
      "SELECT count(*) FILTER (WHERE state = 'open') AS open, count(*) FILTER (WHERE state <> 'open') AS closed FROM dead_letter",
    );
    expect(after).toEqual({ open: before?.open, closed: '0' });
  });

  it('is found by destination and class, page by page', async () => {
    const leads = Array.from({ length: 5 }, () => leadAccepted());
    const texts = (lead: (typeof leads)[number]) => deadLetterHeaders(lead, { [headers.errorClass]: 'auth' });
    await stored(...leads.map((lead) => deadRecord(lead, { topic: 'lead.accepted.crm-writer.erp.dlq', headers: texts(lead) })));
    const found: (string | null)[] = [];
    let after: string | undefined;
    do {
      const page = await listLetters(db, { destination: 'erp', class: 'auth', state: 'open', limit: 2, after });
      found.push(...page.items.map(({ event_id }) => event_id));
      after = page.next;
    } while (after !== undefined);
    expect(found.sort()).toEqual(leads.map(({ event_id }) => event_id).sort());
    expect((await listLetters(db, { destination: 'erp', class: 'permanent', state: 'open', limit: 2 })).items).toEqual([]);
  });
});
