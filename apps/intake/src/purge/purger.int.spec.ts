import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import type { Database } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, codec, openIntakeDatabase, silent, submission } from '../../test/fixture.js';
import { type Acceptance, acceptLeads } from '../accept-leads.js';
import { eraseLeads } from '../erasure/erase-leads.js';
import { findSubject } from '../erasure/find-subject.js';
import { leadCourse } from '../search/lead-course.js';
import { readVault } from '../vault/read-vault.js';
import { rewrapPage } from '../vault/rewrap-page.js';
import { Purger } from './purger.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

let database: TestDatabase;
let db: Database;
let root: pg.Client;
let purger: Purger;
beforeAll(async () => {
  database = await testDatabase('intake_purge');
  db = await openIntakeDatabase(database.url);
  root = new pg.Client({ connectionString: database.url });
  await root.connect();
  purger = new Purger({ db, logger: silent, pauseMs: 0 });
});
afterAll(async () => {
  await root?.end();
  await db?.close();
  await database?.drop();
});

/** Lets the database's clock run ahead. */
const passes = (time: string) =>
  root.query(
    `create or replace function intake.clock_now() returns timestamptz language sql volatile as $$select clock_timestamp() + interval '${time}'$$`,
  );
const tools = () => acceptTools(db);
async function accept(count: number, changes: Parameters<typeof submission>[0] = {}): Promise<Acceptance[]> {
  const { context } = tools().telemetry.startSpan('test', { kind: 'server' });
  return acceptLeads(
    tools(),
    Array.from({ length: count }, () => ({ submission: submission(changes), trace: context })),
  );
}
const count = async (table: string) => Number((await root.query(`select count(*) from intake.${table}`)).rows[0].count);

describe('the purge', () => {
  it('keeps what is young or still open, and deletes the rest of it in time, table by table', async () => {
    await passes('0 seconds');
    await accept(1_200);
    await root.query(`update intake.delivery set state = 'delivered'`);
    await root.query(`insert into intake.told select event_id, '[]', accepted_at from intake.lead`);
    const kept = await accept(3);
    const states = ['accepted', 'uncertain', 'waiting'];
    for (const [index, answer] of kept.entries()) {
      const eventId = 'eventId' in answer ? answer.eventId : '';
      await root.query(`update intake.delivery set state = 'delivered' where event_id = $1 and destination = 'marketing'`, [eventId]);
      await root.query(`update intake.delivery set state = $2 where event_id = $1 and destination = 'crm'`, [eventId, states[index]]);
    }
    const [changed] = await accept(1);
    await root.query(`update intake.delivery set state = 'dead', as_of = clock_timestamp() + interval '39 days' where event_id = $1`, [
      changed && 'eventId' in changed ? changed.eventId : '',
    ]);
    await passes('39 days 23 hours');
    expect(await purger.purge()).toEqual({
      vault: 0,
      rejected: 0,
      pending_revision: 0,
      intake_key: 0,
      replay_item: 0,
      received: 0,
      lead: 0,
    });
    await passes('40 days 1 hour');
    expect(await purger.purge()).toEqual({
      vault: 0,
      rejected: 0,
      pending_revision: 0,
      intake_key: 0,
      replay_item: 0,
      received: 0,
      lead: 1_200,
    });
    expect([await count('lead'), await count('delivery'), await count('vault'), await count('intake_key')]).toEqual([4, 8, 1_204, 1_204]);
    expect(await count('told')).toBe(0);
    await passes('401 days 1 hour');
    const last = {
      vault: 1_204,
      rejected: 0,
      pending_revision: 0,
      intake_key: 1_204,
      replay_item: 0,
      received: expect.any(Number),
      lead: 1,
    };
    expect(await purger.purge()).toEqual(last);
    expect(await count('received')).toBe(0);
    expect(await count('delivery')).toBe(6);
  });

  it('deletes payloads of a site that keeps them for a shorter time that much earlier, and nothing else', async () => {
    await root.query('truncate intake.lead, intake.delivery, intake.vault, intake.intake_key');
    await passes('0 seconds');
    await accept(2);
    const brief = new Purger({ db, logger: silent, pauseMs: 0, vaultMs: 30 * 86_400_000 });
    await passes('29 days 23 hours');
    expect(await brief.purge()).toMatchObject({ vault: 0, lead: 0 });
    await passes('30 days 1 hour');
    expect(await brief.purge()).toMatchObject({ vault: 2, intake_key: 0, lead: 0 });
    expect(await brief.purge()).toMatchObject({ vault: 0 });
  });

  it('leaves a lead that outlives its payload to be found by address and erased, and its row goes with the lead', async () => {
    await root.query('truncate intake.lead, intake.delivery, intake.vault, intake.intake_key');
    await passes('0 seconds');
    const same = tools();
    const { context } = same.telemetry.startSpan('test', { kind: 'server' });
    const answers = await acceptLeads(
      same,
      ['ada@example.test', 'eve@example.test'].map((email) => ({ submission: submission({ contact: { email } }), trace: context })),
    );
    const [ada, eve] = answers.map((answer) => ('leadRef' in answer ? answer : { eventId: '', leadRef: '' }));
    await root.query(`update intake.delivery set state = 'delivered', claimed_at = now()`);
    const vaultMs = 8 * 86_400_000;
    const brief = new Purger({ db, logger: silent, pauseMs: 0, vaultMs });
    const course = async (eventId = '') => leadCourse({ db, codec, vaultMs }, eventId);
    const { accepted_at: acceptedAt, vault } = (await course(ada?.eventId)) ?? {};
    expect(Date.parse(vault?.delete_after ?? '') - Date.parse(acceptedAt ?? '')).toBe(vaultMs);
    await passes('9 days');
    expect(await brief.purge()).toMatchObject({ vault: 2, lead: 0 });
    expect((await root.query('select distinct sealed, wrapped_key from intake.vault')).rows).toEqual([
      { sealed: Buffer.alloc(0), wrapped_key: Buffer.alloc(0) },
    ]);
    expect((await readVault({ db, ring: same.ring }, [ada?.leadRef ?? ''])).map(({ status }) => status)).toEqual([410]);
    expect(await rewrapPage({ db, ring: same.ring }, 'vault', null)).toMatchObject({ looked: 0, unreadable: {} });
    expect(await course(ada?.eventId)).toMatchObject({ vault: { state: 'gone', delete_after: null }, erased: false });
    const found = await findSubject({ ...same, db }, { kind: 'email', value: 'ada@example.test' });
    expect(found.leads).toMatchObject([{ event_id: ada?.eventId, whole_person: true, person_key: expect.any(String) }]);
    const erased = await eraseLeads({ db, ring: same.ring, codec, relayWake: () => undefined }, [ada?.eventId ?? '']);
    expect(erased.places).toMatchObject({ vault_revisions: 0, search_keys: 0 });
    expect(await course(ada?.eventId)).toMatchObject({ vault: { state: 'gone' }, erased: true });
    await passes('41 days');
    await brief.purge();
    expect(await brief.purge()).toMatchObject({ lead: 0 });
    expect([await course(eve?.eventId), await count('vault')]).toEqual([undefined, 0]);
  });

  it('leaves the answer to a repeat as it was after the lead itself is gone', async () => {
    await root.query('truncate intake.lead, intake.delivery, intake.vault, intake.intake_key');
    await passes('0 seconds');
    const same = tools();
    const lead = submission({ sourceEventId: 'web-kept' });
    const { context } = same.telemetry.startSpan('test', { kind: 'server' });
    const [first] = await acceptLeads(same, [{ submission: lead, trace: context }]);
    await root.query(`update intake.delivery set state = 'dead'`);
    await passes('41 days');
    expect(await purger.purge()).toMatchObject({ lead: 1 });
    const [again, other] = await acceptLeads(same, [
      { submission: lead, trace: context },
      { submission: { ...lead, message: 'Something else' }, trace: context },
    ]);
    expect(again).toEqual({ ...first, kind: 'replayed' });
    expect(other).toMatchObject({ kind: 'conflict' });
  });

  it('deletes refused records 90 days after their refusal', async () => {
    const insert = (offset: number, days: number) =>
      root.query(
        `insert into intake.rejected (rejected_id, class, code, errors, topic, partition, record_offset, record_at, rejected_at, key_id, wrapped_key, sealed, delete_after)
         values (gen_random_uuid(), 'decode', 'not_avro', '[]', 'leads', 0, $1, now(), now(), 'k1', '', '', now() + $2 * interval '1 day')`,
        [offset, days],
      );
    await passes('0 seconds');
    await insert(1, -1);
    await insert(2, 1);
    expect(await purger.purge()).toMatchObject({ rejected: 1 });
    expect((await root.query('select record_offset from intake.rejected')).rows).toEqual([{ record_offset: '2' }]);
  });

  it('may run twice at once', async () => {
    await root.query('truncate intake.lead, intake.delivery, intake.vault, intake.intake_key');
    await accept(700);
    await root.query(`update intake.delivery set state = 'erased'`);
    await passes('41 days');
    const other = new Purger({ db, logger: silent, pauseMs: 0 });
    const [one, two] = await Promise.all([purger.purge(), other.purge()]);
    await purger.purge();
    expect(await count('lead')).toBe(0);
    expect((one.lead ?? 0) + (two.lead ?? 0)).toBeLessThanOrEqual(700);
  });
});
