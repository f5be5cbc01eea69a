import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Outcome } from '#delivery';
import type { Channel } from '#destinations';
import type { Database } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { deadLetterHeaders, deadRecord, leadAccepted, openOperatorDatabase, silent } from '../../../test/rig.js';
import { readLetter } from '../read-letter.js';
import { deadLetterSources } from '../sources.js';
import { storeLetters } from '../store-letters.js';
import { OwnerNotices } from './tell-owners.js';

jest.setTimeout(60_000);

let database: TestDatabase;
let db: Database;
let told: { channel: string; text: string }[];
let answer: () => Promise<Outcome>;

const sql = <R>(text: string, values: unknown[] = []) => db.sql<R>(createHash('sha1').update(text).digest('hex'), text, values);
const channel = (name: string, sandbox: boolean): Channel => ({
  name,
  kind: 'telegram',
  recipient: '-1',
  sandbox,
  send: async ({ text }) => {
    told.push({ channel: name, text });
    return answer();
  },
  close: async () => undefined,
});
const site = {
  owners: { integration: { id: 'integration', name: 'Integration duty', channel: 'duty' } },
  destinations: { crm: {} },
} as never;
const notices = (channels: Channel[] = [channel('sales', true), channel('duty', false)]) =>
  new OwnerNotices({
    db,
    site,
    channels: new Map(channels.map((one) => [one.name, one])),
    consoleUrl: 'https://leads.example.test',
    windowMs: 300_000,
    logger: silent,
  });
const die = async (count = 1, failure = 'attempts_exhausted', test = false) => {
  const source = deadLetterSources(['crm']).get('lead.accepted.crm-writer.crm.dlq');
  if (source === undefined) throw new Error('no source');
  const letters = Array.from({ length: count }, () => {
    const lead = leadAccepted({ test });
    return readLetter(deadRecord(lead, { headers: deadLetterHeaders(lead, { 'ld-error-class': failure }) }), source, lead);
  });
  await storeLetters(db, letters);
  return letters;
};
const states = () =>
  sql<{ state: string; letters: number; code: string | null }>('SELECT state, letters, code FROM owner_notice ORDER BY created_at');
/** The clock of the window: as if it had been made earlier. */
const later = () => sql("UPDATE owner_notice SET created_at = created_at - interval '6 minutes', due_at = due_at - interval '20 minutes'");

beforeAll(async () => {
  database = await testDatabase('notices');
  db = await openOperatorDatabase(database.url);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  await sql('DELETE FROM dead_letter');
  await sql('DELETE FROM untold_letter');
  await sql('DELETE FROM owner_notice');
  told = [];
  answer = async () => ({ kind: 'succeeded', ref: '7' });
});

describe('an owner', () => {
  it('is told at once of the first, and of all others together when the window is over', async () => {
    await die();
    await notices().run();
    await die(3);
    await die(2, 'permanent');
    await notices().run();
    expect(told).toMatchObject([{ channel: 'duty', text: expect.stringContaining('New dead letter for Integration duty') }]);
    await later();
    await notices().run();
    await notices().run();
    expect(told).toHaveLength(2);
    expect(told[1]?.text.split('\n').slice(0, 3)).toEqual([
      '5 new dead letters for Integration duty',
      '3 × attempts_exhausted at crm',
      '2 × permanent at crm',
    ]);
    expect(await states()).toMatchObject([
      { state: 'sent', letters: 1 },
      { state: 'sent', letters: 5 },
    ]);
  });

  it('is told on the first channel where none is named, of its own letters alone', async () => {
    await die(1, 'deadline_exceeded');
    await die();
    await notices().run();
    expect(told.map(({ channel: name }) => name).toSorted()).toEqual(['duty', 'sales']);
    expect(told.find(({ channel: name }) => name === 'sales')?.text).toContain('1 × deadline_exceeded at crm');
  });

  it('is told once by several processes', async () => {
    await die(20);
    await Promise.all(Array.from({ length: 6 }, () => notices().run()));
    expect(told).toHaveLength(1);
  });

  it('is told nothing of what has closed meanwhile, nor twice of the same letter', async () => {
    const [letter] = await die();
    await storeLetters(db, [letter as never]);
    expect(await sql('SELECT FROM untold_letter')).toHaveLength(1);
    await sql("UPDATE dead_letter SET state = 'closed'");
    await notices().run();
    expect(told).toEqual([]);
    expect(await sql('SELECT FROM untold_letter')).toEqual([]);
  });

  it('is told of test leads only where nobody real listens', async () => {
    await die(1, 'permanent', true);
    await notices().run();
    expect(told).toEqual([]);
    await die(1, 'deadline_exceeded', true);
    await notices().run();
    expect(told).toMatchObject([{ channel: 'sales', text: expect.stringMatching(/^TEST New dead letter/) }]);
  });
});

describe('a message about dead letters', () => {
  it('that may have left is not sent again; the next one says so', async () => {
    await die(4);
    answer = async () => ({ kind: 'uncertain', code: 'timeout' });
    await notices().run();
    await later();
    await notices().run();
    expect(told).toHaveLength(1);
    expect(await states()).toMatchObject([{ state: 'uncertain', code: 'timeout' }]);
    await die();
    answer = async () => ({ kind: 'succeeded', ref: '8' });
    await notices().run();
    expect(told[1]?.text).toContain('A message about 4 more may not have arrived.');
  });

  it('whose sender died in the middle is not sent again', async () => {
    await die();
    answer = () => Promise.reject(new Error('killed'));
    await notices()
      .run()
      .catch(() => undefined);
    expect(await states()).toMatchObject([{ state: 'sending' }]);
    await notices().run();
    await sql("UPDATE owner_notice SET lease_until = clock_now() - interval '1 second'");
    await notices().run();
    expect(told).toHaveLength(1);
    expect(await states()).toMatchObject([{ state: 'uncertain', code: 'process_lost' }]);
  });

  it('that provably was not sent goes out when the channel is back, once', async () => {
    await die();
    answer = async () => ({ kind: 'transient', code: 'econnrefused', provablyNotExecuted: true });
    await notices().run();
    await notices().run();
    expect(told).toHaveLength(1);
    answer = async () => ({ kind: 'succeeded' });
    await later();
    await notices().run();
    await notices().run();
    expect(told).toHaveLength(2);
    expect(await states()).toMatchObject([{ state: 'sent' }]);
  });
});
