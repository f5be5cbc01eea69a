import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { headers } from '#contracts';
import type { WaitingItem } from '#delivery';
import { type Database, InternalUnavailable } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { openDelivery, pretendWaiting } from '../../../test/pretend-waiting.js';
import { codec, deadLetterHeaders, deadRecord, leadAccepted, openOperatorDatabase } from '../../../test/rig.js';
import { groupsQuery } from '../group-letters.js';
import { everywhere, type Reader } from '../letter-filter.js';
import { listQuery } from '../list-letters.js';
import { readLetter } from '../read-letter.js';
import { deadLetterSources } from '../sources.js';
import { storeLetters } from '../store-letters.js';
import { groupUncertain, listUncertain } from './list-uncertain.js';
import type { WaitingOwner } from './waiting-owner.js';

const beganMs = Date.now() - 3_600_000;
let database: TestDatabase;
let db: Database;
let offset = 0n;
let open: WaitingItem[];
let owner: WaitingOwner;

beforeAll(async () => {
  database = await testDatabase('uncertain');
  db = await openOperatorDatabase(database.url);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  await db.sql('spec.clear', 'DELETE FROM dead_letter', []);
  open = [];
  owner = pretendWaiting(() => open);
});

const leadAt = (minute: number, organization = 'demo') => leadAccepted({ organization, submitted_at: new Date(beganMs + minute * 60_000) });
type Lead = ReturnType<typeof leadAt>;
const isUncertain = (lead: Lead) => open.push(openDelivery(lead, { state: 'uncertain', code: 'timeout' }));
async function isTold(lead: Lead): Promise<void> {
  const source = deadLetterSources(['crm']).get('lead.accepted.crm-writer.crm.dlq');
  if (source === undefined) throw new Error('no source');
  offset += 1n;
  const texts = deadLetterHeaders(lead, { [headers.errorClass]: 'unverified_write', [headers.errorCode]: undefined });
  await storeLetters(db, [readLetter(deadRecord(lead, { offset, headers: texts }), source, lead)]);
}

const tools = () => ({ db, codec, waiting: new Map([['crm-writer', owner]]) });
const groups = (query: object = {}, reader: Reader = everywhere) =>
  groupUncertain(tools(), groupsQuery.parse({ tab: 'uncertain', ...query }), reader);
const page = (query: object, reader: Reader = everywhere) =>
  listUncertain(tools(), listQuery.parse({ tab: 'uncertain', ...query }), reader);
async function all(query: object, between: () => Promise<unknown> = async () => undefined, reader: Reader = everywhere) {
  const found: { id: string | null; state: string }[] = [];
  let after: string | undefined;
  do {
    const { items, next } = await page({ ...query, ...(after && { after }) }, reader);
    found.push(...items.map(({ event_id, state }) => ({ id: event_id, state })));
    after = next;
    await between();
  } while (after !== undefined);
  return found;
}
const idsOf = (found: readonly { id: string | null }[]) => found.map(({ id }) => id);
const eventIdsOf = (found: readonly { event_id: string | null }[]) => found.map(({ event_id }) => event_id);

describe('what is uncertain', () => {
  it.each([1, 2, 3, 7, 50])(
    'is there from its first moment, and as its letter once somebody was told, in one order by pages of %d',
    async (limit) => {
      const leads = Array.from({ length: 9 }, (_, n) => leadAt(Math.floor(n / 2)));
      for (const [n, lead] of leads.entries()) {
        if (n % 3 === 0) await isTold(lead);
        // The owner tells of one for a while after somebody was told.
        if (n % 3 !== 0 || n === 3) isUncertain(lead);
      }
      for (const order of ['oldest', 'newest', 'due']) {
        const found = await all({ order, limit });
        expect(found).toHaveLength(9);
        expect(new Set(idsOf(found))).toEqual(new Set(leads.map(({ event_id }) => event_id)));
        expect(found.filter(({ state }) => state === 'open')).toHaveLength(3);
        if (order === 'due') expect(found.slice(0, 3).every(({ state }) => state === 'open')).toBe(true);
        const minutes = idsOf(found).map((id) => leads.findIndex(({ event_id }) => event_id === id) >> 1);
        const sorted = minutes.toSorted((one, other) => (order === 'newest' ? other - one : one - other));
        if (order !== 'due') expect(minutes).toEqual(sorted);
      }
    },
  );

  it('shows letters and deliveries of which there are many, in turn, each exactly once', async () => {
    const leads = Array.from({ length: 120 }, (_, n) => leadAt(n, n % 4 < 2 ? 'demo' : 'other'));
    for (const [n, lead] of leads.entries()) {
      if (n % 2 === 0) await isTold(lead);
      else isUncertain(lead);
    }
    for (const query of [{ limit: 7 }, { limit: 50 }, { limit: 7, order: 'newest' }, { limit: 7, order: 'due' }]) {
      const found = idsOf(await all(query));
      expect(found).toHaveLength(120);
      expect(new Set(found).size).toBe(120);
    }
    expect(idsOf(await all({ limit: 7 }))).toEqual(eventIdsOf(leads));
    expect(idsOf(await all({ limit: 7, organization: 'other' }))).toEqual(eventIdsOf(leads.filter((_, n) => n % 4 >= 2)));
  });

  it('shows the letters that fit a filter at once, however many deliveries do not', async () => {
    for (let n = 0; n < 70; n += 1) isUncertain(leadAt(n));
    const told = leadAt(100);
    await isTold(told);
    await db.sql('spec.assign', "UPDATE dead_letter SET assignee = 'ada'", []);
    expect(eventIdsOf((await page({ assignee: 'ada', limit: 1 })).items)).toEqual([told.event_id]);
    expect(eventIdsOf((await page({ disposition: 'investigate', limit: 1 })).items)).toEqual([told.event_id]);
  });

  it('is shown once where somebody is told of it while pages are read', async () => {
    const leads = Array.from({ length: 8 }, (_, n) => leadAt(n));
    for (const lead of leads) isUncertain(lead);
    const telling = [...leads];
    const found = await all({ limit: 2 }, async () => {
      const [one, other] = [telling.shift(), telling.pop()];
      for (const lead of [one, other]) if (lead !== undefined) await isTold(lead);
    });
    expect(idsOf(found)).toEqual(leads.map(({ event_id }) => event_id));
  });

  it('tells whose turn it is and what comes by itself, and is seen by whoever may see the lead', async () => {
    isUncertain(leadAt(1));
    isUncertain(leadAt(2, 'other'));
    expect((await page({})).items[0]).toMatchObject({
      state: 'uncertain',
      class: 'unverified_write',
      organization: 'demo',
      owner: 'integration',
      disposition: 'wait',
      next_action: expect.stringContaining('by itself'),
      runbook: 'docs/runbooks/unverified-write.md',
    });
    expect(await all({}, undefined, { organizations: ['other'] })).toHaveLength(1);
    expect(await all({ class: 'unverified_write', destination: 'crm' })).toHaveLength(2);
    expect(await all({ class: 'auth' })).toEqual([]);
    expect(await all({ state: 'closed' })).toEqual([]);
  });

  it('is grouped beside its letters', async () => {
    isUncertain(leadAt(1));
    isUncertain(leadAt(2));
    await isTold(leadAt(3));
    const scoped = await groups({}, { organizations: ['demo'] });
    expect(scoped.items).toMatchObject([
      { class: 'unverified_write', destination: 'crm', code: 'timeout', count: 2, disposition: 'wait', next_action: expect.any(String) },
      { class: 'unverified_write', destination: 'crm', code: null, count: 1 },
    ]);
    expect((await groups()).items.map(({ count }) => count)).toEqual([2, 1]);
    expect((await groups({ limit: 1 })).left_out).toBe(1);
  });

  it('shows the letters, and who is missing, while an owner does not answer', async () => {
    await isTold(leadAt(1));
    owner = {
      page: () => Promise.reject(new InternalUnavailable('crm-writer')),
      groups: () => Promise.reject(new InternalUnavailable('crm-writer')),
    };
    expect(await page({})).toMatchObject({ items: [{ state: 'open' }], unavailable: ['crm-writer'] });
    expect(await groups()).toMatchObject({ items: [{ count: 1 }], unavailable: ['crm-writer'] });
  });
});
