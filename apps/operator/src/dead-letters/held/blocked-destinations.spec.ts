import { describe, expect, it } from '@jest/globals';
import type { DestinationsAnswer } from '#delivery';
import { InternalUnavailable } from '#runtime';
import { readBlocked } from './blocked-destinations.js';

const hold = { by: 'ada', reason: 'maintenance', at: '2026-06-01T12:00:00.000Z' };
const state = (destination: string, more: object) =>
  ({ destination, cool_downs: 0, as_of: hold.at, ...more }) as DestinationsAnswer['items'][number];
const site = {
  sources: [{ organization: 'demo' }, { organization: 'other' }],
  routing: [
    { match: { organization: 'demo' }, destinations: ['crm'], chat: 'sales' },
    { match: { organization: 'other' }, destinations: ['erp'] },
  ],
} as never;
const all = { organizations: '*' } as const;

/** Destinations of crm-writer with what they are; `asked` counts how often topics were looked at. */
function owners(states: Record<string, object>, unclaimed: Record<string, object> = {}) {
  const asked = { figures: 0 };
  const items = Object.entries(states).map(([name, more]) => state(name, more));
  const figures = Object.entries(unclaimed).map(([destination, of]) => ({ destination, unclaimed: of }));
  const post = async () => {
    asked.figures += 1;
    return { items: figures };
  };
  const tools = {
    site,
    owners: new Map([['crm-writer', { destinations: async () => ({ items }) }]]),
    clients: new Map([['crm-writer', { post: post as never }]]),
  };
  return { asked, tools };
}

describe('destinations that nothing is sent to', () => {
  const blocked = { mode: 'blocked', reason: 'hold', hold };

  it('stand with what lies on their topics; those that are sent to are left out', async () => {
    const { tools } = owners(
      { crm: blocked, erp: { mode: 'probing', reason: 'failing' }, mail: { mode: 'flowing' }, old: { mode: 'ramping' } },
      { crm: { count: 12, exact: true }, erp: { count: 9, exact: false }, mail: { count: 3, exact: true } },
    );
    expect((await readBlocked(tools, {}, all)).blocked).toMatchObject([
      { service: 'crm-writer', destination: 'crm', mode: 'blocked', reason: 'hold', hold, unclaimed: { count: 12 } },
      { destination: 'erp', mode: 'probing', reason: 'failing', unclaimed: { count: 9, at_most: true } },
    ]);
  });

  it('are not looked for on topics where there is none', async () => {
    const { tools, asked } = owners({ crm: { mode: 'flowing' } }, { crm: { count: 3, exact: true } });
    expect(await readBlocked(tools, {}, all)).toEqual({ blocked: [], unavailable: [] });
    expect(asked.figures).toBe(0);
  });

  it('are those that the reader may see and the filter names, and a channel has no count', async () => {
    const { tools } = owners(
      { crm: blocked, erp: { mode: 'blocked', reason: 'auth' }, sales: blocked },
      { erp: { unknown: 'kafka_away' } },
    );
    const namesFor = async (filter: object, reader: Parameters<typeof readBlocked>[2] = all) =>
      (await readBlocked(tools, filter, reader)).blocked.map(({ destination }) => destination);
    expect(await namesFor({}, { organizations: ['other'] })).toEqual(['erp']);
    expect(await namesFor({ organization: 'demo' })).toEqual(['crm', 'sales']);
    expect(await namesFor({ class: 'auth' })).toEqual(['erp']);
    expect(await namesFor({ owner: 'operations', destination: 'sales' })).toEqual(['sales']);
    const [, erp, sales] = (await readBlocked(tools, {}, all)).blocked;
    expect(erp?.unclaimed).toEqual({ unknown: 'kafka_away' });
    expect(sales).not.toHaveProperty('unclaimed');
  });

  it('are named without their figures where a service is away, and are waited for no longer than they are worth', async () => {
    const { tools } = owners({ crm: blocked });
    const away = () => Promise.reject(new InternalUnavailable('down'));
    const never = () => new Promise<never>(() => {});
    const among = (destinations: () => Promise<never>) => new Map([...tools.owners, ['notifier', { destinations }]]);
    expect(await readBlocked({ ...tools, owners: among(away) }, {}, all)).toMatchObject({
      blocked: [{ destination: 'crm' }],
      unavailable: ['notifier'],
    });
    expect((await readBlocked({ ...tools, owners: among(never), patienceMs: 5 }, {}, all)).unavailable).toEqual(['notifier']);
    for (const post of [away, never]) {
      const found = await readBlocked({ ...tools, clients: new Map([['crm-writer', { post }]]), patienceMs: 5 }, {}, all);
      expect(found).toMatchObject({ blocked: [{ destination: 'crm', hold }], unavailable: ['crm-writer'] });
      expect(found.blocked[0]).not.toHaveProperty('unclaimed');
    }
  });
});
