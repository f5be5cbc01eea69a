import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Database } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, openIntakeDatabase, submission } from '../../test/fixture.js';
import { acceptLeads } from '../accept-leads.js';
import { type AnnouncedState, updateStates } from './update-states.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await testDatabase('intake_states');
  db = await openIntakeDatabase(database.url);
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});

async function newLead(): Promise<string> {
  const tools = acceptTools(db);
  const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
  const [answer] = await acceptLeads(tools, [{ submission: submission(), trace: context }]);
  if (answer?.kind !== 'accepted') throw new Error('not accepted');
  return answer.eventId;
}
const announced = (eventId: string, changes: Partial<AnnouncedState> = {}): AnnouncedState => ({
  eventId,
  destination: 'crm',
  state: 'delivered',
  class: null,
  code: null,
  generation: 1,
  operations: [{ kind: 'lead', state: 'succeeded', ref: 'r-1' }],
  resolvedAt: new Date('2026-06-01T12:00:00Z'),
  ...changes,
});
async function stateOf(eventId: string, destination = 'crm') {
  const [row] = await db.sql<{ state: string; class: string | null; operations: unknown; claimed: boolean }>(
    'test state',
    'select state, class, operations, claimed_at is not null as claimed from delivery where event_id = $1 and destination = $2',
    [eventId, destination],
  );
  return row;
}

describe('updateStates', () => {
  it('stores the outcome of one delivery and leaves the others alone', async () => {
    const eventId = await newLead();
    expect(await updateStates(db, [announced(eventId)])).toBe(1);
    expect(await stateOf(eventId)).toEqual({
      state: 'delivered',
      class: null,
      operations: [{ kind: 'lead', state: 'succeeded', ref: 'r-1' }],
      claimed: true,
    });
    expect(await stateOf(eventId, 'marketing')).toMatchObject({ state: 'accepted', claimed: false });
  });

  it('changes nothing when it is repeated or overtaken', async () => {
    const eventId = await newLead();
    await updateStates(db, [announced(eventId, { generation: 2 })]);
    const late = [
      announced(eventId, { generation: 2, state: 'dead' }),
      announced(eventId, { generation: 2, state: 'dead', resolvedAt: new Date('2026-06-01T11:59:59Z') }),
      announced(eventId, { generation: 1, state: 'dead', resolvedAt: new Date('2026-06-02T12:00:00Z') }),
    ];
    for (const state of late) expect(await updateStates(db, [state])).toBe(0);
    expect(await stateOf(eventId)).toMatchObject({ state: 'delivered' });
    expect(await updateStates(db, [announced(eventId, { generation: 3, state: 'erased' })])).toBe(1);
  });

  it('follows a delivery that died and was delivered later, in the same generation or a new one', async () => {
    const eventId = await newLead();
    const at = (minute: number) => new Date(Date.UTC(2026, 5, 1, 12, minute));
    const course: Partial<AnnouncedState>[] = [
      { state: 'dead', class: 'attempts_exhausted', code: 'http_503', resolvedAt: at(1) },
      { state: 'expired', class: 'deadline_exceeded', code: 'deadline', resolvedAt: at(2) },
      { state: 'delivered', resolvedAt: at(3) },
      { state: 'dead', class: 'permanent', code: 'http_422', generation: 2, resolvedAt: at(4) },
      { state: 'discarded', generation: 2, resolvedAt: at(5) },
    ];
    for (const step of course) {
      expect(await updateStates(db, [announced(eventId, step)])).toBe(1);
      expect(await stateOf(eventId)).toMatchObject({ state: step.state, class: step.class ?? null });
    }
    // Every one of them again, in any order: what is known already is not undone.
    for (const step of course.toReversed()) expect(await updateStates(db, [announced(eventId, step)])).toBe(0);
    expect(await stateOf(eventId)).toMatchObject({ state: 'discarded' });
  });

  it('takes the newest of several announcements in one batch, in whatever order', async () => {
    const eventId = await newLead();
    const states = [
      announced(eventId, { state: 'dead', resolvedAt: new Date('2026-06-01T12:00:01Z') }),
      announced(eventId, { state: 'delivered', resolvedAt: new Date('2026-06-01T12:00:02Z') }),
      announced(eventId, { state: 'expired' }),
    ];
    expect(await updateStates(db, states)).toBe(1);
    expect(await stateOf(eventId)).toMatchObject({ state: 'delivered' });
  });

  it('believes the first announcement even from a server whose clock is behind', async () => {
    const eventId = await newLead();
    expect(await updateStates(db, [announced(eventId, { resolvedAt: new Date('2020-01-01T00:00:00Z') })])).toBe(1);
  });

  it('passes what is no delivery of ours', async () => {
    expect(await updateStates(db, [announced('0190aaaa-0000-7000-8000-000000000000')])).toBe(0);
  });
});
