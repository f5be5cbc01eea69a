import { describe, expect, it } from '@jest/globals';
import type { DeliveryStateItem, UnresolvedItem } from '#delivery';
import { checkDeadEnds, type LetterItem } from './check-dead-ends.js';

const nowMs = Date.parse('2026-05-01T12:00:00Z');
const old = '2026-05-01T11:00:00Z';
const unresolved = (event_id: string, more: Partial<UnresolvedItem> = {}): UnresolvedItem => ({
  event_id,
  destination: 'crm',
  state: 'dead',
  lead_ref: 'L-1',
  generation: 1,
  since: old,
  submitted_at: old,
  deadline_at: old,
  ...more,
});
const letter = (event_id: string, more: Partial<LetterItem> = {}): LetterItem => ({
  service: 'crm-writer',
  event_id,
  destination: 'crm',
  lead_ref: 'L-1',
  organization: 'demo',
  class: 'permanent',
  state: 'open',
  dead_at: old,
  ...more,
});

/** Services that answer a page of one item at a time. */
function services({ ends, letters, states }: { ends: UnresolvedItem[]; letters: LetterItem[]; states: Record<string, string> }) {
  const paged = <T>(items: T[], after: unknown) => {
    const at = Number(after ?? 0);
    return { items: items.slice(at, at + 1), ...(at + 1 < items.length && { next: String(at + 1) }) };
  };
  const post = async (path: string, body: unknown): Promise<never> => {
    const asked = body as { after?: string; event_ids?: string[]; state?: string; items?: { event_id: string; destination: string }[] };
    if (path.endsWith('deliveries:unresolved')) return paged(ends, asked.after) as never;
    if (path.endsWith('deliveries:state')) {
      const one = (event_id: string, destination: string) =>
        states[event_id] === undefined ? [] : [{ destination, state: states[event_id] } as DeliveryStateItem];
      return { items: asked.items?.map(({ event_id, destination }) => ({ event_id, deliveries: one(event_id, destination) })) } as never;
    }
    const wanted = letters.filter(
      ({ event_id, state }) => (asked.event_ids?.includes(event_id ?? '') ?? true) && (asked.state === 'any' || state === 'open'),
    );
    return paged(wanted, asked.after) as never;
  };
  return { operator: { post }, owners: new Map([['crm-writer', { post }]]) };
}

describe('dead ends', () => {
  it('each has its letter: names those without one, whatever became of the others', async () => {
    const ends = [
      unresolved('a'),
      unresolved('b'),
      unresolved('c', { state: 'uncertain' }),
      unresolved('d', { since: '2026-05-01T11:59:00Z' }),
    ];
    const letters = [letter('a', { state: 'closed' }), letter('c', { destination: 'marketing' }), letter('b')];
    const found = await checkDeadEnds(services({ ends, letters, states: { b: 'dead', c: 'uncertain' } }), nowMs);
    expect(found).toMatchObject([{ aspect: 'without_letter', eventId: 'c', evidence: { state: 'uncertain', service: 'crm-writer' } }]);
    expect(found).toHaveLength(1);
  });

  it('each open letter has its end: names those whose lead has gone on or is not there', async () => {
    const letters = ['dead', 'waiting', 'delivered', 'gone', 'young'].map((id) =>
      letter(id, id === 'young' ? { dead_at: '2026-05-01T11:59:00Z' } : {}),
    );
    const states = { dead: 'dead', waiting: 'waiting', delivered: 'delivered' };
    const found = await checkDeadEnds(services({ ends: [], letters: [...letters, letter('other', { service: 'intake' })], states }), nowMs);
    expect(found.map(({ aspect, eventId }) => [aspect, eventId])).toEqual([
      ['letter_without_state', 'delivered'],
      ['letter_without_state', 'gone'],
    ]);
  });
});
