import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { headers, type LeadAccepted, LeadAcceptedEvent, type LeadResolved, LeadResolvedEvent } from '#contracts';
import { type Database, newEventId, type Tx } from '#runtime';
import { eventually, pause, type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, codec, openIntakeDatabase, submission } from '../test/fixture.js';
import { type Acceptance, type AcceptTools, acceptLeads } from './accept-leads.js';
import { prepareLead } from './prepare-lead.js';
import { insertLeads } from './store/insert-leads.js';
import type { Submission } from './submission/normalise.js';
import { readVault } from './vault/read-vault.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

let database: TestDatabase;
let db: Database;
let tools: AcceptTools;
let owner: pg.Client;

beforeAll(async () => {
  database = await testDatabase('intake_accept');
  owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  db = await openIntakeDatabase(database.url);
  tools = acceptTools(db);
});
afterAll(async () => {
  await owner?.end();
  await db?.close();
  await database?.drop();
});

const trace = () => tools.telemetry.startSpan('test', { kind: 'server' }).context;
const accept = (...leads: Submission[]) =>
  acceptLeads(
    tools,
    leads.map((lead) => ({ submission: lead, trace: trace() })),
  );
async function acceptOne(lead: Submission): Promise<Acceptance> {
  const [answer] = await accept(lead);
  if (!answer) throw new Error('no answer');
  return answer;
}
function idOf(answer: Acceptance | undefined): string {
  if (!answer || answer.kind === 'invalid') throw new Error(`expected an event id, got ${JSON.stringify(answer)}`);
  return answer.eventId;
}
const rows = <Row>(text: string, ...values: unknown[]) => db.sql<Row>(createHash('md5').update(text).digest('hex'), text, values);
interface OutboxRecord {
  topic: string;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, string>;
}
const outboxOf = (eventId: string) =>
  rows<OutboxRecord>(`select topic, key, value, headers from outbox where headers ->> '${headers.eventId}' = $1 order by id`, eventId);

describe('accepting a lead', () => {
  it('saves key, lead, vault, deliveries and announcement together', async () => {
    const lead = submission({ custom: { colour: 'red' }, message: 'Zebra crossing' });
    const answer = await acceptOne(lead);
    const eventId = idOf(answer);
    expect(answer).toEqual({ kind: 'accepted', eventId, leadRef: expect.stringMatching(/^L-[0-9A-Z]{16}$/) });

    const [saved] = await rows<Record<string, unknown>>('select * from lead where event_id = $1', eventId);
    expect(saved).toMatchObject({
      organization: 'demo',
      source: 'website',
      form: 'contact',
      campaign: 'autumn',
      policy: 'default',
      owner: 'ada',
    });
    expect(await rows('select destination, state, owner from delivery where event_id = $1 order by destination', eventId)).toEqual([
      { destination: 'crm', state: 'accepted', owner: 'ada' },
      { destination: 'marketing', state: 'accepted', owner: 'ada' },
    ]);

    const [record, ...more] = await outboxOf(eventId);
    expect(more).toEqual([]);
    expect(record?.topic).toBe('lead.accepted');
    expect(record?.headers).toMatchObject({ [headers.destinations]: 'crm,marketing', [headers.traceparent]: saved?.traceparent });
    const event = codec.decode(LeadAcceptedEvent, record?.value ?? null) as LeadAccepted;
    expect(event).toMatchObject({
      event_id: eventId,
      event_type: 'lead.accepted',
      version: 1,
      destinations: ['crm', 'marketing'],
      consent: true,
      deadline_at: new Date(event.submitted_at.getTime() + 4 * 3_600_000),
    });
    expect(event.submitted_at).toEqual(event.accepted_at);

    const [read] = await readVault(tools, [saved?.lead_ref as string]);
    expect(read).toMatchObject({
      status: 200,
      revision: 1,
      payload: { message: 'Zebra crossing', custom: { colour: 'red' }, person_key: record?.key?.toString() },
    });
  });

  it('keeps what is personal out of every column that is not sealed', async () => {
    const eventId = idOf(
      await acceptOne(
        submission({
          contact: { name: 'Quince Zebra', email: 'Quince.Zebra@example.test', phone: '+12025550177' },
          message: 'Quagga',
          custom: { pet: 'Okapi' },
        }),
      ),
    );
    const dump = await rows<{ text: string }>(
      `select (select string_agg(lead::text, ' ') from lead where event_id = $1) || (select string_agg(outbox::text, ' ') from outbox)
        || (select string_agg(intake_key::text, ' ') from intake_key) || (select string_agg(vault::text, ' ') from vault) as text`,
      eventId,
    );
    const text = dump[0]?.text ?? '';
    expect(text).toContain(eventId);
    for (const planted of ['Quince', 'Zebra', 'zebra', '2025550177', 'Quagga', 'Okapi']) {
      expect(text).not.toContain(planted);
      expect(text).not.toContain(Buffer.from(planted).toString('hex'));
    }
  });

  it('gives the stored answer to the same content, whatever the order of its fields and its times', async () => {
    const lead = submission({ custom: { a: '1', b: 2 }, submittedAt: new Date(Date.now() - 60_000) });
    const first = await acceptOne(lead);
    const again = await acceptOne({
      ...lead,
      custom: { b: '2', a: '1' },
      submittedAt: undefined,
      consent: { given: true, at: new Date() },
    });
    expect(again).toEqual({ ...first, kind: 'replayed' });
    const [{ count } = { count: '' }] = await rows<{ count: string }>(
      'select count(*) from outbox where headers ->> $1 = $2',
      headers.eventId,
      idOf(first),
    );
    expect(count).toBe('1');
  });

  it('calls other content under the same id a conflict, and leaves the first alone', async () => {
    const lead = submission();
    const first = await acceptOne(lead);
    expect(await acceptOne({ ...lead, message: 'Something else' })).toEqual({ kind: 'conflict', eventId: idOf(first) });
    expect(await acceptOne(lead)).toMatchObject({ kind: 'replayed' });
  });

  it('keeps equal ids of two sources apart', async () => {
    const lead = submission();
    const answers = await accept(lead, { ...lead, source: 'partner-feed' });
    expect(answers.map(({ kind }) => kind)).toEqual(['accepted', 'accepted']);
  });

  it('makes one lead of fifty identical requests at once', async () => {
    const lead = submission();
    const answers = await Promise.all(Array.from({ length: 50 }, () => acceptOne(lead)));
    expect(answers.filter(({ kind }) => kind === 'accepted')).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === 'replayed')).toHaveLength(49);
    expect(new Set(answers.map(idOf)).size).toBe(1);
  });

  it('case 11: answers twins inside one batch, the first of them counting', async () => {
    const lead = submission();
    const answers = await accept(lead, submission(), lead, { ...lead, message: 'Other' });
    expect(answers.map(({ kind }) => kind)).toEqual(['accepted', 'accepted', 'replayed', 'conflict']);
    expect(idOf(answers[2])).toBe(idOf(answers[0]));
  });

  describe('while a twin is being saved by another process', () => {
    /** Runs `during` while a transaction that has inserted the lead is open, then ends it. */
    async function whileSaving(lead: Submission, end: 'commit' | 'rollback', during: () => Promise<void>): Promise<string> {
      const { row } = prepareLead(tools, lead, { now: new Date(), trace: trace() });
      await db
        .transaction(async (tx: Tx) => {
          await insertLeads(tx, [row]);
          await during();
          if (end === 'rollback') throw new Error('rolled back');
        })
        .catch((error: Error) => expect(error.message).toBe('rolled back'));
      return row.eventId;
    }

    it('waits for it and gets its answer', async () => {
      const lead = submission();
      let answer: Promise<Acceptance> | undefined;
      let answered = false;
      const eventId = await whileSaving(lead, 'commit', async () => {
        answer = acceptOne(lead).finally(() => {
          answered = true;
        });
        await eventually('the second statement waits for the first', async () => {
          const { rows: waiting } = await owner.query(
            `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
          );
          return waiting.length > 0;
        });
        expect(answered).toBe(false);
      });
      expect(await answer).toMatchObject({ kind: 'replayed', eventId });
    });

    it('is accepted itself when the other one fails', async () => {
      const lead = submission();
      let answer: Promise<Acceptance> | undefined;
      const eventId = await whileSaving(lead, 'rollback', async () => {
        answer = acceptOne(lead);
        await pause(50);
      });
      const own = await answer;
      expect(own).toMatchObject({ kind: 'accepted' });
      expect(idOf(own)).not.toBe(eventId);
    });
  });

  it('recomputes a fingerprint of another version from the vault before it speaks of a conflict', async () => {
    const lead = submission();
    const eventId = idOf(await acceptOne(lead));
    await owner.query(`update intake.intake_key set fingerprint = 'v0:' || repeat('0', 64) where event_id = $1`, [eventId]);
    expect(await acceptOne(lead)).toMatchObject({ kind: 'replayed', eventId });
    expect(await acceptOne({ ...lead, message: 'Other' })).toMatchObject({ kind: 'conflict', eventId });
  });

  it.each([
    ['holds a NUL', 'bad\u0000form', '22021'],
    ['is too large for an index', randomBytes(8_000).toString('base64'), '54000'],
  ])('case 11: refuses the one row of 256 whose text %s, and saves its neighbours', async (_what, formSlug, sqlState) => {
    // None of ours holds text as it came: this one stands for what PostgreSQL may refuse for its size.
    await owner.query('create index narrow on intake.lead (form)');
    try {
      const all = Array.from({ length: 256 }, (_, at) => submission(at === 137 ? { formSlug } : {}));
      const answers = await accept(...all);
      expect(answers.flatMap(({ kind }, at) => (kind === 'accepted' ? [] : [at]))).toEqual([137]);
      expect(answers[137]).toMatchObject({ kind: 'invalid', errors: [{ field: 'body', problem: `cannot be stored (${sqlState})` }] });
      expect(JSON.stringify(answers[137])).not.toContain(formSlug.slice(0, 3));
      const known = answers.toSpliced(137, 1).map((answer) => ({ ...answer, kind: 'replayed' }));
      expect(await accept(...all.toSpliced(137, 1))).toEqual(known);
    } finally {
      await owner.query('drop index intake.narrow');
    }
  });

  it('refuses times that are ahead or too old, without touching the others', async () => {
    const ahead = submission({ submittedAt: new Date(Date.now() + 600_000) });
    const never = submission({ submittedAt: new Date(8.64e15) });
    const answers = await accept(ahead, submission(), never);
    expect(answers.map(({ kind }) => kind)).toEqual(['invalid', 'accepted', 'invalid']);
    expect(answers[0]).toMatchObject({ errors: [{ field: 'submitted_at' }] });
  });

  it('accepts a lead that is past its deadline already', async () => {
    const eventId = idOf(await acceptOne(submission({ submittedAt: new Date(Date.now() - 86_400_000) })));
    const [row] = await rows<{ late: boolean }>('select deadline_at < clock_now() as late from lead where event_id = $1', eventId);
    expect(row?.late).toBe(true);
  });
});

describe('routing', () => {
  async function announcedBy(lead: Submission) {
    const eventId = idOf(await acceptOne(lead));
    const records = await outboxOf(eventId);
    const deliveries = await rows<Record<string, unknown>>(
      'select destination, state, class, code, owner from delivery where event_id = $1 order by destination',
      eventId,
    );
    return { eventId, records, deliveries };
  }
  const destinationsIn = (record: OutboxRecord | undefined) =>
    (codec.decode(LeadAcceptedEvent, record?.value ?? null) as LeadAccepted).destinations;

  it('leaves out destinations that need consent where it is not given', async () => {
    const { records, deliveries } = await announcedBy(submission({ consent: { given: false } }));
    expect(deliveries.map(({ destination }) => destination)).toEqual(['crm']);
    expect(destinationsIn(records[0])).toEqual(['crm']);
  });

  it.each([
    ['no rule fits', submission({ form: 'other', formSlug: 'other' }), 'no_route', 'ada'],
    ['a test lead has no sandbox destination', submission({ form: 'live', formSlug: 'live', test: true }), 'no_sandbox_destination', 'bob'],
    [
      'consent is missing for all of them',
      submission({ form: 'newsletter', formSlug: 'newsletter', consent: { given: false } }),
      'no_consent',
      'bob',
    ],
  ])('makes a dead delivery with an owner where %s', async (_, lead, code, owner) => {
    const { eventId, records, deliveries } = await announcedBy(lead);
    expect(deliveries).toEqual([{ destination: 'unrouted', state: 'dead', class: 'routing', code, owner }]);
    expect(records.map(({ topic }) => topic)).toEqual(['lead.accepted', 'lead.resolved', 'leads.intake.dlq']);
    expect(destinationsIn(records[0])).toEqual(['unrouted']);
    expect(codec.decode(LeadResolvedEvent, records[1]?.value ?? null) as LeadResolved).toMatchObject({
      event_id: eventId,
      destination: 'unrouted',
      primary: true,
      outcome: 'dead',
      error_class: 'routing',
      error_code: code,
    });
    expect(records[2]?.headers).toMatchObject({ [headers.errorClass]: 'routing', [headers.errorRef]: expect.stringMatching(/^lead:L-/) });
    expect(new Set(records.map(({ key }) => key?.toString())).size).toBe(1);
  });

  it('sends test leads to sandbox destinations only', async () => {
    const { records } = await announcedBy(submission({ test: true }));
    expect(destinationsIn(records[0])).toEqual(['crm', 'marketing']);
  });

  it('gives one key to one person and another to another', async () => {
    const keyOf = async (email: string) => (await announcedBy(submission({ contact: { email } }))).records[0]?.key?.toString();
    const keys = await Promise.all(
      ['Ann.Lee@example.test', 'ann.lee@example.test', 'ann.lee+ads@example.test', 'annlee@example.test'].map(keyOf),
    );
    expect(keys[0]).toBe(keys[1]);
    expect(new Set(keys).size).toBe(3);
  });
});

describe('the clock', () => {
  it("takes every time from PostgreSQL's clock_now()", async () => {
    const other = await testDatabase('intake_clock');
    const shifted = await openIntakeDatabase(other.url);
    const clock = new pg.Client({ connectionString: other.url });
    await clock.connect();
    await clock.query(
      `create or replace function intake.clock_now() returns timestamptz language sql volatile as $$select clock_timestamp() + interval '30 days'$$`,
    );
    await clock.end();
    const [answer] = await acceptLeads(acceptTools(shifted), [{ submission: submission(), trace: trace() }]);
    const [row] = await shifted.sql<{ days: number }>(
      'test days',
      'select round(extract(epoch from accepted_at - clock_timestamp()) / 86400)::int as days from lead where event_id = $1',
      [idOf(answer)],
    );
    expect(row?.days).toBe(30);
    await shifted.close();
    await other.drop();
  });
});

describe('reading the vault', () => {
  it('answers 410 for what it does not hold, in the order asked', async () => {
    const answer = await acceptOne(submission());
    const leadRef = answer.kind === 'accepted' ? answer.leadRef : '';
    const read = await readVault(tools, ['L-UNKNOWN', leadRef, newEventId()]);
    expect(read.map(({ status }) => status)).toEqual([410, 200, 410]);
  });
});
