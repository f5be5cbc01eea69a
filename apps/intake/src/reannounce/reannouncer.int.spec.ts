import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { headers, LeadResolvedEvent, topics } from '#contracts';
import { BrokersUnavailable } from '#messaging';
import { type Database, type InternalClient, InternalRefused, InternalUnavailable } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, codec, openIntakeDatabase, silent, site, submission } from '../../test/fixture.js';
import { type AcceptTools, acceptLeads } from '../accept-leads.js';
import { Reannouncer } from './reannouncer.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

let database: TestDatabase;
let db: Database;
let owner: pg.Client;
let tools: AcceptTools;
/** What the owner of deliveries knows: event ids and destinations. */
let owned: string[] = [];
let ownerAnswers = true;
/** Destinations that take nothing. */
let blocked: string[] = [];
/** Destinations that the owner is not configured for. */
let unknown: string[] = [];
/** By the owner's clock no deadline has passed. */
let early = false;
/** Event id that its owner does not take, and the status that it refuses a request with that has it; undefined: it says so per item. */
let refused: string | undefined;
let refusal: number | undefined;
/** What was handed over past its deadline. */
let handedOver: Record<string, unknown>[] = [];

const answers: Record<string, (items: { event_id: string; destination: string }[]) => unknown[]> = {
  '/internal/v1/destinations:state': () =>
    ['crm', 'marketing'].map((destination) => ({ destination, mode: blocked.includes(destination) ? 'blocked' : 'flowing' })),
  '/internal/v1/deliveries:state': (items) =>
    items.map(({ event_id }) => ({
      event_id,
      deliveries: owned
        .filter((one) => one.startsWith(event_id))
        .map((one) => ({ destination: one.slice(event_id.length + 1), state: 'pending', as_of: '', operations: [], complete: true })),
    })),
  '/internal/v1/deliveries:expire': (items) => {
    if (refusal !== undefined && items.some(({ event_id }) => event_id === refused)) throw new InternalRefused('refused', refusal);
    handedOver.push(...items.map((item) => ({ ...item })));
    return items.map(({ event_id, destination }) => {
      if (unknown.includes(destination)) return { event_id, destination, result: 'unknown_destination' };
      if (refused === event_id) return { event_id, destination, result: 'refused' };
      if (early) return { event_id, destination, result: 'early' };
      owned.push(`${event_id} ${destination}`);
      return { event_id, destination, result: 'expired' };
    });
  },
};
const crmWriter: InternalClient = {
  post: async <T>(path: string, body: unknown): Promise<T> => {
    if (!ownerAnswers) throw new InternalUnavailable('away');
    const { items = [] } = body as { items?: { event_id: string; destination: string }[] };
    return { items: answers[path]?.(items) } as T;
  },
  close: async () => {},
};
let reannouncer: Reannouncer;
/** Since when each destination's group has records to read; undefined: Kafka does not answer. */
let unread: Map<string, Date> | undefined = new Map();
const reannouncerOf = (changes: { awayAfterMs?: number } = {}) =>
  new Reannouncer({
    db,
    codec,
    site: site(),
    owner: crmWriter,
    unreadSince: async (destinations) => {
      if (unread === undefined) throw new BrokersUnavailable('away');
      return new Map([...unread].filter(([destination]) => destinations.includes(destination)));
    },
    relayWake: () => {},
    logger: silent,
    everyMs: 60_000,
    ...changes,
  });

beforeAll(async () => {
  database = await testDatabase('intake_reannounce');
  db = await openIntakeDatabase(database.url);
  owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  reannouncer = reannouncerOf();
});
afterAll(async () => {
  await owner?.end();
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  // With a clock that has read nothing of the test before.
  tools = acceptTools(db);
  owned = [];
  ownerAnswers = true;
  unread = new Map();
  blocked = [];
  unknown = [];
  early = false;
  [refused, refusal] = [undefined, undefined];
  handedOver = [];
  await owner.query('truncate intake.delivery, intake.outbox, intake.destination_pause');
  await passes('0 seconds');
});

/** Lets the database's clock run ahead. */
const passes = (time: string) =>
  owner.query(
    `create or replace function intake.clock_now() returns timestamptz language sql volatile as $$select clock_timestamp() + interval '${time}'$$`,
  );

async function newLead(changes: Parameters<typeof submission>[0] = {}): Promise<string> {
  const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
  const [answer] = await acceptLeads(tools, [{ submission: submission(changes), trace: context }]);
  if (answer?.kind !== 'accepted') throw new Error('not accepted');
  return answer.eventId;
}
async function recordsOf(eventId: string) {
  const { rows } = await owner.query<{ topic: string; key: Buffer; value: Buffer; headers: Record<string, string> }>(
    `select topic, key, value, headers from intake.outbox where headers ->> '${headers.eventId}' = $1 order by id`,
    [eventId],
  );
  return rows;
}

describe('a lead that nobody claimed', () => {
  it('is announced again with the same bytes, after five minutes and no earlier', async () => {
    const eventId = await newLead();
    await passes('4 minutes 59 seconds');
    expect(await reannouncer.sweep()).toBe(0);
    await passes('5 minutes 1 second');
    expect(await reannouncer.sweep()).toBe(1);
    const [first, second] = await recordsOf(eventId);
    expect(second).toEqual(first);
  });

  it('is announced for those destinations alone whose owner lacks it', async () => {
    const eventId = await newLead();
    owned = [`${eventId} crm`];
    await passes('6 minutes');
    expect(await reannouncer.sweep()).toBe(1);
    const records = await recordsOf(eventId);
    expect(records[1]?.headers[headers.destinations]).toBe('marketing');
    const { rows } = await owner.query('select destination, claimed_at is not null as claimed from intake.delivery order by destination');
    expect(rows).toEqual([
      { destination: 'crm', claimed: true },
      { destination: 'marketing', claimed: false },
    ]);
  });

  it('waits longer each time', async () => {
    await newLead();
    await passes('6 minutes');
    expect(await reannouncer.sweep()).toBe(1);
    await passes('12 minutes');
    expect(await reannouncer.sweep()).toBe(0);
    await passes('17 minutes');
    expect(await reannouncer.sweep()).toBe(1);
  });

  it('is left alone while its owner cannot be asked', async () => {
    const eventId = await newLead();
    await passes('6 minutes');
    ownerAnswers = false;
    await expect(reannouncer.sweep()).rejects.toThrow(InternalUnavailable);
    expect(await recordsOf(eventId)).toHaveLength(1);
    ownerAnswers = true;
    expect(await reannouncer.sweep()).toBe(1);
  });

  it('is given five minutes once its owner is back that was away for long', async () => {
    const eventId = await newLead();
    const patient = reannouncerOf({ awayAfterMs: 0 });
    await passes('10 minutes');
    ownerAnswers = false;
    await expect(patient.sweep()).rejects.toThrow(InternalUnavailable);
    ownerAnswers = true;
    await passes('14 minutes 59 seconds');
    expect(await patient.sweep()).toBe(0);
    await passes('15 minutes 1 second');
    expect(await patient.sweep()).toBe(1);
    expect(await recordsOf(eventId)).toHaveLength(2);
  });

  it('is left alone for good once it is claimed, or dead from the start', async () => {
    const eventId = await newLead();
    owned = [`${eventId} crm`, `${eventId} marketing`];
    await passes('6 minutes');
    expect(await reannouncer.sweep()).toBe(0);
    owned = [];
    await passes('2 days');
    expect(await reannouncer.sweep()).toBe(0);
    const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
    await acceptLeads(tools, [{ submission: submission({ form: 'other', formSlug: 'other' }), trace: context }]);
    await passes('4 days');
    expect(await reannouncer.sweep()).toBe(0);
  });
});

describe('while a destination takes nothing', () => {
  it('its leads are not announced again, and are given five minutes once it takes them', async () => {
    const eventId = await newLead();
    blocked = ['crm'];
    await passes('6 minutes');
    expect(await reannouncer.sweep()).toBe(1);
    expect((await recordsOf(eventId))[1]?.headers[headers.destinations]).toBe('marketing');
    await passes('60 minutes');
    await reannouncer.sweep();
    blocked = [];
    await passes('64 minutes');
    await reannouncer.sweep();
    expect((await recordsOf(eventId)).slice(1).map(destinationsOf)).not.toContain('crm');
    await passes('66 minutes');
    expect(await reannouncer.sweep()).toBe(1);
    expect((await recordsOf(eventId)).slice(1).map(destinationsOf)).toContain('crm');
  });

  it('a lead of another destination is looked after however many wait', async () => {
    blocked = ['crm'];
    for (let count = 0; count < 3; count++) await newLead();
    const eventId = await newLead({ form: 'newsletter', formSlug: 'newsletter' });
    await passes('6 minutes');
    expect(await reannouncer.sweep()).toBe(4);
    expect(await recordsOf(eventId)).toHaveLength(2);
  });
});

describe('while a group has not read all its records', () => {
  it('a lead that may be among them is not announced again, and one that was announced before them is', async () => {
    const lost = await newLead({ form: 'newsletter', formSlug: 'newsletter' });
    await passes('10 minutes');
    tools = acceptTools(db);
    const waiting = await newLead({ form: 'newsletter', formSlug: 'newsletter' });
    unread = new Map([['marketing', new Date(Date.now() + 10 * 60_000)]]);
    await passes('16 minutes');
    expect(await reannouncer.sweep()).toBe(1);
    expect([(await recordsOf(lost)).length, (await recordsOf(waiting)).length]).toEqual([2, 1]);
    unread = new Map();
    expect(await reannouncer.sweep()).toBe(1);
    expect(await recordsOf(waiting)).toHaveLength(2);
  });

  it('nothing is announced again where Kafka does not say', async () => {
    const eventId = await newLead();
    await passes('6 minutes');
    unread = undefined;
    await expect(reannouncer.sweep()).rejects.toThrow(BrokersUnavailable);
    expect(await recordsOf(eventId)).toHaveLength(1);
  });
});

describe('while records do not reach Kafka', () => {
  it('nothing is announced again: it would only make the queue longer', async () => {
    const eventId = await newLead();
    await owner.query(`update intake.outbox set created_at = clock_timestamp() - interval '2 minutes'`);
    await passes('6 minutes');
    expect(await reannouncer.sweep()).toBe(0);
    await owner.query('truncate intake.outbox');
    await passes('12 minutes');
    expect(await reannouncer.sweep()).toBe(1);
    expect(await recordsOf(eventId)).toHaveLength(1);
  });
});

describe('a lead that nobody claimed before its deadline', () => {
  it('is handed to its owner with everything the owner needs, once, also while its destination takes nothing', async () => {
    const eventId = await newLead();
    blocked = ['crm', 'marketing'];
    await passes('3 hours 59 minutes');
    await reannouncer.sweep();
    expect(handedOver).toEqual([]);
    await passes('4 hours 1 minute');
    await reannouncer.sweep();
    await reannouncer.sweep();
    expect(handedOver.map(({ destination }) => destination).toSorted()).toEqual(['crm', 'marketing']);
    const [record] = await recordsOf(eventId);
    expect(handedOver[0]).toEqual({
      event_id: eventId,
      destination: expect.any(String),
      lead_ref: expect.stringMatching(/^L-/),
      submitted_at: expect.stringMatching(/Z$/),
      deadline_at: expect.stringMatching(/Z$/),
      test: false,
      record_key: record?.key.toString('base64'),
      event: record?.value.toString('base64'),
      traceparent: expect.any(String),
    });
  });

  it.each([
    ['says so of the item', undefined],
    ['refuses the whole request', 422],
    ['finds the request too large', 413],
  ])('holds up no other where its owner does not take it and %s', async (_, status) => {
    const ids = [];
    for (let count = 0; count < 5; count++) ids.push(await newLead());
    [refused, refusal] = [ids[2], status];
    const young = await newLead();
    await owner.query(`update intake.delivery set deadline_at = deadline_at + interval '1 day' where event_id = $1`, [young]);
    await passes('4 hours 1 minute');
    await reannouncer.sweep();
    expect(await recordsOf(young)).toHaveLength(2);
    const { rows } = await owner.query<{ event_id: string }>('select event_id from intake.delivery where claimed_at is null');
    expect(new Set(rows.map(({ event_id }) => event_id))).toEqual(new Set([refused, young]));
  });

  it('is not handed over piece by piece to an owner that refuses us', async () => {
    [refused, refusal] = [await newLead(), 403];
    await newLead();
    await passes('4 hours 1 minute');
    await expect(reannouncer.sweep()).rejects.toThrow(InternalRefused);
    expect(handedOver).toEqual([]);
  });

  it('is handed over again while the clock of its owner is behind', async () => {
    await newLead();
    early = true;
    await passes('4 hours 1 minute');
    await reannouncer.sweep();
    early = false;
    await reannouncer.sweep();
    await reannouncer.sweep();
    expect(handedOver).toHaveLength(4);
  });

  it('becomes a dead letter where nobody knows its destination any more', async () => {
    const eventId = await newLead();
    unknown = ['crm'];
    await passes('4 hours 1 minute');
    await reannouncer.sweep();
    await reannouncer.sweep();
    const { rows } = await owner.query('select destination, state, class, code from intake.delivery order by destination');
    expect(rows).toEqual([
      { destination: 'crm', state: 'dead', class: 'routing', code: 'unknown_destination' },
      { destination: 'marketing', state: 'accepted', class: null, code: null },
    ]);
    const [announced, ...later] = await recordsOf(eventId);
    const letters = later.filter(({ topic }) => topic === topics.intakeDlq);
    expect(letters).toHaveLength(1);
    expect(letters[0]).toMatchObject({
      value: announced?.value,
      headers: { [headers.errorClass]: 'routing', [headers.destinations]: 'crm', [headers.errorRef]: expect.stringMatching(/^lead:L-/) },
    });
  });

  it.each<[string, string, boolean]>([
    ['is told about', 'crm', true],
    ['is told about by its primary destination alone', 'marketing', false],
  ])('%s where nobody knows its destination any more', async (_, gone, primary) => {
    const eventId = await newLead();
    unknown = [gone];
    await passes('4 hours 1 minute');
    await reannouncer.sweep();
    await reannouncer.sweep();
    const told = (await recordsOf(eventId)).filter(({ topic }) => topic === topics.leadResolved);
    expect(told).toHaveLength(1);
    expect(told[0]?.headers).toMatchObject({ [headers.eventId]: eventId, [headers.destinations]: gone });
    expect(await codec.decode(LeadResolvedEvent, told[0]?.value ?? null)).toMatchObject({
      ...{ event_id: eventId, destination: gone, primary, outcome: 'dead' },
      ...{ error_class: 'routing', error_code: 'unknown_destination' },
    });
  });

  it('is never announced again, also where its owner has no use for it', async () => {
    const eventId = await newLead();
    const minutes = Array.from({ length: 60 }, (_, index) => 6 + index * 5);
    for (const at of minutes) {
      await passes(`${at} minutes`);
      await reannouncer.sweep();
    }
    const announced = (await recordsOf(eventId)).length;
    expect(announced).toBeLessThan(9);
    await passes('3 days');
    await reannouncer.sweep();
    expect(await recordsOf(eventId)).toHaveLength(announced);
  });
});

const destinationsOf = (record: { headers: Record<string, string> }) => record.headers[headers.destinations];
