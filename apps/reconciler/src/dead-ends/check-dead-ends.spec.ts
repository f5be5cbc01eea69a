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
  closed_as: null,
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
        states[event_id] === undefined ? [] : [{ destination, state: states[event_id], deadline_at: old } as DeliveryStateItem];
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
  it('each has its letter: names those without one', async () => {
    const ends = [
      unresolved('a'),
      unresolved('b'),
      unresolved('c', { state: 'uncertain' }),
      unresolved('d', { since: '2026-05-01T11:59:00Z' }),
    ];
    const letters = [letter('a', { state: 'closed', closed_as: 'dismissed' }), letter('c', { destination: 'marketing' }), letter('b')];
    const found = await checkDeadEnds(services({ ends, letters, states: { b: 'dead', c: 'uncertain' } }), nowMs);
    expect(found).toMatchObject([{ aspect: 'without_letter', eventId: 'c', evidence: { state: 'uncertain', service: 'crm-writer' } }]);
    expect(found).toHaveLength(1);
  });

  it.each<[string, Partial<LetterItem>, number]>([
    ['an open letter', {}, 0],
    ['one that a person dismissed', { state: 'closed', closed_as: 'dismissed' }, 0],
    ['one of a row that was gone', { state: 'closed', closed_as: 'row_gone' }, 0],
    ['one of a destination that is gone', { state: 'closed', closed_as: 'destination_removed' }, 0],
    ['a letter of an earlier round', { state: 'closed', closed_as: 'superseded' }, 1],
    ['a letter from before it was delivered once', { state: 'closed', closed_as: 'delivered' }, 1],
    ['a letter about its owner alone', { class: 'unknown_owner' }, 1],
    ['a letter of another service', { service: 'notifier' }, 1],
  ])('a delivery with %s (%j) is named %i times', async (_what, more, count) => {
    const found = await checkDeadEnds(services({ ends: [unresolved('a')], letters: [letter('a', more)], states: { a: 'dead' } }), nowMs);
    expect(found.filter(({ aspect }) => aspect === 'without_letter')).toHaveLength(count);
  });

  it.each<[string, Partial<UnresolvedItem>, string | undefined]>([
    ['has been delivered meanwhile', {}, 'delivered'],
    ['is under way again', {}, 'waiting'],
    ['ended once more meanwhile', { deadline_at: '2026-05-01T10:00:00Z' }, 'dead'],
    ['is kept no more', {}, undefined],
  ])('one that %s is left to the next look', async (_what, more, state) => {
    const states: Record<string, string> = state === undefined ? {} : { a: state };
    expect(await checkDeadEnds(services({ ends: [unresolved('a', more)], letters: [], states }), nowMs)).toEqual([]);
  });

  it.each<[string, LetterItem[], number]>([
    ['no letter', [], 1],
    ['a letter about its message alone', [letter('a')], 1],
    ['an open letter that asks for the owner', [letter('a', { class: 'unknown_owner' })], 0],
    ['one that a person dismissed', [letter('a', { class: 'unknown_owner', state: 'closed', closed_as: 'dismissed' })], 0],
  ])(
    'a lead that belongs to nobody, with %s, is named where nobody looks for its owner, whatever became of its message',
    async (_what, letters, count) => {
      const ends = [unresolved('a', { class: 'unknown_owner' })];
      const found = await checkDeadEnds(services({ ends, letters, states: { a: 'dead' } }), nowMs);
      expect(found.filter(({ aspect }) => aspect === 'without_letter')).toHaveLength(count);
      const told = await checkDeadEnds(services({ ends, letters: [], states: { a: 'delivered' } }), nowMs);
      expect(told).toMatchObject([{ aspect: 'without_letter', eventId: 'a' }]);
    },
  );

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

  it('a message about a lead without an owner arrived all the same: its letter stays', async () => {
    const letters = [letter('told', { class: 'unknown_owner' }), letter('untold', { class: 'unknown_owner' })];
    expect(await checkDeadEnds(services({ ends: [], letters, states: { told: 'delivered' } }), nowMs)).toEqual([]);
  });
});
