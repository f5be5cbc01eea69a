import { beforeEach, describe, expect, it } from '@jest/globals';
import type { WaitingItem } from '#delivery';
import { InternalUnavailable } from '#runtime';
import { openDelivery, pretendWaiting } from '../../../test/pretend-waiting.js';
import { codec, leadAccepted } from '../../../test/rig.js';
import { listQuery } from '../list-letters.js';
import { groupOpen } from './group-open.js';
import type { HeldItem } from './held-item.js';
import { listHeld } from './list-held.js';

const nowMs = Date.UTC(2026, 5, 1, 12);
const db = { sql: async () => [{ now: new Date(nowMs) }] } as never;

let asked: number;
let items: Record<'crm-writer' | 'notifier', WaitingItem[]>;
const tools = () => ({
  db,
  codec,
  waiting: new Map(
    (['crm-writer', 'notifier'] as const).map((service) => [
      service,
      pretendWaiting(() => {
        asked += 1;
        return items[service];
      }),
    ]),
  ),
});

function waits(secondsAgo: number, changes: Partial<WaitingItem> & { organization?: string } = {}): WaitingItem {
  const { organization = 'demo', ...rest } = changes;
  const submitted = new Date(nowMs - secondsAgo * 1_000);
  const lead = leadAccepted({ organization, submitted_at: submitted });
  const deadline_at = new Date(submitted.getTime() + 600_000).toISOString();
  return openDelivery(lead, { deadline_at, reason: 'hold', ...rest });
}
const everything = { organizations: '*' } as const;
async function all(query: object, reader: Parameters<typeof listHeld>[2] = everything, limit = 7): Promise<HeldItem[]> {
  const found: HeldItem[] = [];
  let after: string | undefined;
  do {
    const asked = listQuery.parse({ tab: 'held', limit, ...query, ...(after && { after }) });
    const page = await listHeld(tools(), { filter: asked, after, limit }, reader);
    found.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return found;
}

beforeEach(() => {
  asked = 0;
  items = {
    'crm-writer': Array.from({ length: 40 }, (_, n) => waits(n * 10, { organization: n % 10 === 0 ? 'other' : 'demo' })),
    notifier: [],
  };
});

describe('what waits for its destination', () => {
  it('is one list over all services, the longest submitted first, each delivery once', async () => {
    items.notifier = Array.from({ length: 25 }, (_, n) => waits(n * 10 + 5, { destination: 'lead/sales/0f/lead_delivered', event: '' }));
    const found = await all({});
    expect(found).toHaveLength(65);
    expect(new Set(found.map(({ dead_letter_id }) => dead_letter_id)).size).toBe(65);
    const ages = found.map(({ age_ms }) => age_ms);
    expect(ages).toEqual(ages.toSorted((one, other) => other - one));
  });

  it('tells whose lead it is, why it waits and until when there is time', async () => {
    const [oldest] = await all({}, everything, 1);
    expect(oldest).toMatchObject({
      organization: 'demo',
      source: 'website',
      class: 'hold',
      owner: 'operations',
      age_ms: 390_000,
      schema_id: 1,
    });
    expect(oldest?.respond_by).toBe(oldest?.deadline_at);
  });

  it('shows nothing of an organization that the reader may not see, nor what the filter leaves out', async () => {
    expect(await all({}, { organizations: ['other'] })).toHaveLength(4);
    expect(await all({ organization: 'other' })).toHaveLength(4);
    expect(await all({ class: 'breaker' })).toEqual([]);
    expect(await all({ q_ref: items['crm-writer'][3]?.lead_ref })).toHaveLength(1);
    items['crm-writer'].push(waits(1, { event: 'AAAA' }));
    expect(await all({}, { organizations: ['demo', 'other'] })).toHaveLength(40);
  });

  it('is asked of nobody where the filter alone says that no delivery fits', async () => {
    const group = '00000000-0000-4000-8000-000000000001';
    for (const filter of [{ assignee: 'ada' }, { disposition: 'investigate' }, { group }, { class: 'permanent' }, { owner: 'sales' }]) {
      expect(await all(filter)).toEqual([]);
      expect((await groupOpen(tools(), { kind: 'held', filter: listQuery.parse(filter) }, everything)).items).toEqual([]);
    }
    expect(await all({ class: 'hold', owner: 'integration' })).toEqual([]);
    expect(asked).toBe(0);
  });

  it('is found in few rounds behind much that does not fit', async () => {
    items['crm-writer'] = Array.from({ length: 900 }, (_, n) => waits(n, { organization: n === 0 ? 'other' : 'demo' }));
    expect(await all({ organization: 'other' }, everything, 1)).toHaveLength(1);
    expect(asked).toBeLessThanOrEqual(2 * 5);
  });

  it('is shown as far as services answer, with the name of the one that does not', async () => {
    const waiting = tools().waiting;
    let tried = 0;
    const away = () => {
      tried += 1;
      return Promise.reject(new InternalUnavailable('down'));
    };
    waiting.set('notifier', { page: away, groups: away });
    const found = await listHeld({ ...tools(), waiting }, { filter: { organization: 'none' }, limit: 7 }, everything);
    expect(found).toEqual({ items: [], unavailable: ['notifier'] });
    expect((await listHeld({ ...tools(), waiting }, { filter: {}, limit: 7 }, everything)).items).toHaveLength(7);
    const groups = await groupOpen({ ...tools(), waiting }, { kind: 'held', filter: {} }, everything);
    expect(groups).toMatchObject({ items: [{ count: 40 }], unavailable: ['notifier'] });
    expect(tried).toBe(3);
  });

  it('is grouped by destination and reason, by the services themselves or one by one', async () => {
    expect((await groupOpen(tools(), { kind: 'held', filter: { destination: 'crm' } }, everything)).items).toMatchObject([
      { count: 40 },
      { count: 0 },
    ]);
    const scoped = await groupOpen(tools(), { kind: 'held', filter: {} }, { organizations: ['demo'] });
    expect(scoped.items).toMatchObject([{ destination: 'crm', class: 'hold', count: 36, overdue: 0, disposition: 'wait' }]);
  });
});
