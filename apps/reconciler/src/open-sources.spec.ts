import { describe, expect, it } from '@jest/globals';
import { windowRequest } from '#delivery';
import { type InternalClient, newEventId } from '#runtime';
import { windowItem } from '../../../test/support/reconcile/window-item.js';
import { type Clients, sourcesOf } from './open-sources.js';
import { anyTime } from './runs/compare-page.js';

/** Owners that hold requests against the contract, as the real ones do, and answer for everything that is named. */
function open() {
  const asked: { path: string; count: number }[] = [];
  const post = async (path: string, body: unknown): Promise<{ items: object[] }> => {
    if (path.endsWith('deliveries:window')) {
      const { event_ids: ids, person_keys: keys } = windowRequest.parse(body);
      asked.push({ path, count: (ids ?? keys ?? []).length });
      return { items: (ids ?? keys ?? []).map((name) => windowItem({ event_id: name })) };
    }
    const { items } = body as { items: object[] };
    if (items.length === 0 || items.length > 500) throw new Error(`${items.length} items`);
    asked.push({ path, count: items.length });
    return { items: items.map((item) => ({ ...item, organization: 'demo', source: 'website', status: 410 })) };
  };
  const client = { post } as unknown as InternalClient;
  const clients: Pick<Clients, 'intake' | 'crm-writer' | 'notifier'> = { intake: client, 'crm-writer': client, notifier: client };
  return { sources: sourcesOf(clients), counts: () => asked.map(({ count }) => count) };
}
const many = Array.from({ length: 1_001 }, () => newEventId());
const destination = { ...anyTime, destination: 'crm' };

describe('what a comparison reads of other services', () => {
  it('is asked for in parts, however many leads and persons are named', async () => {
    const { sources, counts } = open();
    const idsOf = ({ items }: { items: { event_id: string }[] }) => items.map(({ event_id }) => event_id);
    expect(idsOf(await sources.deliveries({ ...destination, event_ids: many }))).toEqual(many);
    expect(idsOf(await sources.deliveries({ ...destination, person_keys: many }))).toEqual(many);
    expect(idsOf(await sources.notifications({ ...anyTime, event_ids: many }))).toEqual(many);
    expect((await sources.leadSources(many)).size).toBe(1_001);
    expect(await sources.vault.read(many)).toHaveLength(1_001);
    expect(counts()).toEqual(Array.from({ length: 5 }, () => [500, 500, 1]).flat());
  });

  it("names no person under a key that is nobody's", async () => {
    const { sources, counts } = open();
    const strange = ['', 'x'.repeat(129), 'a\0b'];
    expect((await sources.deliveries({ ...destination, person_keys: [...strange, 'x'.repeat(128)] })).items).toHaveLength(1);
    expect((await sources.deliveries({ ...destination, person_keys: strange })).items).toEqual([]);
    expect(counts()).toEqual([1]);
  });
});
