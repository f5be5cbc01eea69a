import { describe, expect, it } from '@jest/globals';
import { windowItem } from '../../../../test/support/reconcile/window-item.js';
import { type ChangesOptions, compareChanges } from './compare-changes.js';

const now = Date.parse('2026-05-01T12:00:00Z');
const day = 86_400_000;
const window = { from: new Date(now - day), to: new Date(now) };
/** An id as it was made then. */
const idOf = (at: number): string => {
  const hex = at.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000001`;
};
const changed = (key: string) => ({ kind: 'lead', ref: 'R-1', key, changedAt: '2026-05-01T11:00:00Z', fields: {} });

/** @param delivered events that crm-writer has @param accepted events that intake has */
const compare = async (key: string, { delivered = [], accepted = [] }: { delivered?: string[]; accepted?: string[] } = {}) => {
  const tools = {
    db: { sql: () => Promise.resolve([{ now }]) },
    connectors: new Map(),
    sources: {
      deliveries: () => Promise.resolve({ items: delivered.map((event_id) => windowItem({ event_id })) }),
      leadSources: () => Promise.resolve(new Map(accepted.map((id) => [id, {}]))),
    },
  };
  const reader = { mayReadInBulk: () => false };
  const options = { tools, reader, destination: 'crm', kind: 'lead', window } as unknown as ChangesOptions;
  return (await compareChanges(options, [changed(key)])).findings;
};

describe('a record under an id like ours', () => {
  it('is an orphan where nobody here knows it', async () => {
    const id = idOf(now - day);
    expect(await compare(id)).toMatchObject([{ class: 'orphan', eventId: id, ref: 'R-1' }]);
    expect(await compare(id, { delivered: [id] })).toEqual([]);
    expect(await compare(id, { accepted: [id] })).toEqual([]);
  });

  it.each([
    [38, 1],
    [39.5, 0],
    [200, 0],
  ])('made %d days ago is an orphan only while a lead of that time is kept', async (days, orphans) => {
    expect(await compare(idOf(now - days * day))).toHaveLength(orphans);
  });
});
