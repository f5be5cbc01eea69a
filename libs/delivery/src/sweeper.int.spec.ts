import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { operationKey } from '#contracts';
import { metrics } from '#runtime';
import {
  insertDelivery,
  openSweepRig,
  outboxRows,
  outcomesOf,
  type RowOptions,
  rowOf,
  type SweepRig,
  standing,
  sweeperOf,
  sweptTarget,
  topicsOf,
} from '../../../test/support/sweep-rig.js';
import type { VerifiedTarget } from './swept-target.js';

const hour = 3_600_000;

describe('the sweeper', () => {
  let rig: SweepRig;
  let held: string[] = [];
  let probe: string[] = [];
  let blocked: string[] = [];

  beforeAll(async () => {
    rig = await openSweepRig('sweeper');
  });
  afterAll(() => rig.close());
  afterEach(async () => {
    [held, probe, blocked] = [[], [], []];
    await rig.clear();
  });

  const sweep = (target: VerifiedTarget = sweptTarget()) =>
    sweeperOf(rig.db, target, { standing: standing({ held, probe, blocked }) }).sweep();
  const insert = (options: RowOptions) => insertDelivery(rig.db, options);
  const leadKey = (id: string) => operationKey(id, 'rig', 'lead');

  describe('of wake-ups', () => {
    it('wakes nothing that is not overdue', async () => {
      await insert({ dueInMs: -9_000 });
      await insert({ dueInMs: 60_000 });
      await sweep();
      expect(await outboxRows(rig.db)).toHaveLength(0);
    });

    it('wakes an overdue delivery with its own bytes, once a minute at most', async () => {
      const id = await insert({ dueInMs: -11_000 });
      await sweep();
      await sweep();
      expect(await outboxRows(rig.db)).toMatchObject([{ topic: 'wake', headers: { 'ld-event-id': id, 'ld-destinations': 'rig' } }]);
      const [first] = await outboxRows(rig.db);
      expect([String(first?.key), String(first?.value)]).toEqual(['person', id]);
      await rig.advance(55_000);
      await sweep();
      expect(await outboxRows(rig.db)).toHaveLength(1);
      await rig.advance(61_000);
      await sweep();
      expect(await outboxRows(rig.db)).toHaveLength(2);
    });

    it('wakes what waits longer than any tier shortly before it is due, since no record stands for it', async () => {
      await insert({ dueInMs: 600_000 });
      await rig.advance(580_000);
      await sweep();
      expect(await outboxRows(rig.db)).toHaveLength(0);
      await rig.advance(592_000);
      await sweep();
      await sweep();
      const [row, ...more] = await outboxRows(rig.db);
      expect(more).toHaveLength(0);
      const notBefore = Number(row?.headers['ld-not-before']);
      expect(notBefore).toBeGreaterThan(Date.now() + 595_000);
      expect(notBefore).toBeLessThan(Date.now() + 601_000);
    });

    it('wakes nothing for a destination that nothing is sent to', async () => {
      await insert({ dueInMs: -60_000 });
      blocked = ['rig'];
      await sweep();
      expect(await outboxRows(rig.db)).toHaveLength(0);
      blocked = [];
      await sweep();
      expect(await topicsOf(rig.db)).toEqual(['wake']);
    });

    it('wakes nothing for a channel that nothing is sent to, of which each recipient is a destination', async () => {
      const target = (name: string) => ({ ...sweptTarget(), name: name.startsWith('lead/telegram/') ? 'telegram' : name });
      const sweeper = sweeperOf(rig.db, sweptTarget(), { target, standing: standing({ blocked: ['telegram'] }) });
      await insert({ destination: 'lead/telegram/ada', dueInMs: -60_000 });
      await insert({ destination: 'lead/slack/ada', dueInMs: -60_000 });
      await sweeper.sweep();
      expect(await outboxRows(rig.db)).toMatchObject([{ headers: { 'ld-destinations': 'lead/slack/ada' } }]);
    });

    it('waits for as long as a destination is behind, whose records are on their way', async () => {
      await insert({ dueInMs: -18_000 });
      await insert({ destination: 'other', dueInMs: -18_000 });
      const behind = new Map([['rig', 9_000]]);
      const target = (name: string) => ({ ...sweptTarget(), name });
      const sweeper = sweeperOf(rig.db, sweptTarget(), { target, lateness: { behind: () => behind } });
      await sweeper.sweep();
      expect(await outboxRows(rig.db)).toMatchObject([{ headers: { 'ld-destinations': 'other' } }]);
      behind.set('rig', 7_000);
      await sweeper.sweep();
      expect(await outboxRows(rig.db)).toHaveLength(2);
    });

    it('lets one process sweep at a time', async () => {
      await insert({ dueInMs: -11_000 });
      await Promise.all(Array.from({ length: 4 }, () => sweep()));
      expect(await outboxRows(rig.db)).toHaveLength(1);
    });

    it('finds the rows of a destination behind more than a batch of others that are not configured', async () => {
      for (let index = 0; index < 210; index++) await insert({ destination: 'gone', dueInMs: -12_000 });
      await insert({ dueInMs: -11_000 });
      const sweeper = sweeperOf(rig.db, sweptTarget());
      while (await sweeper.sweep());
      expect(await outboxRows(rig.db)).toMatchObject([{ headers: { 'ld-destinations': 'rig' } }]);
    });

    it('counts unfinished deliveries by state', async () => {
      await insert({ dueInMs: 60_000 });
      await insert({ state: 'dead' });
      await sweep();
      const { values } = await metrics.deliveries.get();
      expect(values).toMatchObject([
        { value: 1, labels: { destination: 'rig', state: 'waiting' } },
        { value: 1, labels: { destination: 'rig', state: 'dead' } },
      ]);
    });

    it('counts no test lead, in whatever state', async () => {
      const states = ['pending', 'waiting', 'in_flight', 'held', 'uncertain', 'dead', 'expired'];
      held = ['rig'];
      for (const state of states.slice(3)) for (let index = 0; index < 2; index++) await insert({ state });
      for (const state of states) await insert({ state, destination: 'tried', leaseInMs: state === 'in_flight' ? 30_000 : undefined });
      for (const state of ['dead', 'held', 'uncertain']) await insert({ state });
      await rig.asOwner(`UPDATE delivery SET test = true WHERE destination = 'tried' OR event_id IN (
        SELECT max(event_id::text)::uuid FROM delivery WHERE destination = 'rig' AND state IN ('dead', 'held', 'uncertain') GROUP BY state)`);
      const target = (name: string) => ({ ...sweptTarget(), name });
      await sweeperOf(rig.db, sweptTarget(), { target, standing: standing({ held: ['rig', 'tried'] }) }).sweep();
      const { values } = await metrics.deliveries.get();
      const counted = (destination: string) =>
        Object.fromEntries(
          values.filter(({ labels }) => labels.destination === destination).map(({ labels, value }) => [labels.state, value]),
        );
      expect(counted('rig')).toEqual({ held: 2, uncertain: 2, dead: 2, expired: 2 });
      expect(Object.values(counted('tried'))).toEqual(states.map(() => 0));
    });
  });

  describe('of leases', () => {
    it('gives back what its holder had not sent, and wakes it', async () => {
      const id = await insert({ state: 'in_flight', leaseInMs: -1 });
      await insert({ state: 'in_flight', leaseInMs: 30_000 });
      await sweep();
      expect(await rowOf(rig.db, id)).toMatchObject({
        state: 'pending',
        code: 'lease_expired',
        operations: [{ state: 'pending', attempts: 0 }],
      });
      expect(await topicsOf(rig.db)).toEqual(['wake']);
    });

    it('holds a marked operation uncertain until a lookup can count', async () => {
      const id = await insert({
        state: 'in_flight',
        leaseInMs: -1,
        operations: [
          { kind: 'contact', state: 'succeeded', ref: 'C-1' },
          { kind: 'lead', state: 'in_flight', sendingAgoMs: 1_000 },
        ],
      });
      await sweep();
      const row = await rowOf(rig.db, id);
      expect(row).toMatchObject({ state: 'uncertain', operations: [{ state: 'succeeded' }, { state: 'uncertain', attempts: 1 }] });
      // Timeout, execution and search lag of the rig are 2 + 2 + 1 s, from the moment it was marked.
      expect(row.due_ms).toBeGreaterThan(3_000);
      expect(row.due_ms).toBeLessThanOrEqual(4_000);
      expect(await topicsOf(rig.db)).toEqual([]);
      expect(await outcomesOf(rig.db)).toEqual(['lease_expired']);
    });

    it('counts nothing for a repeatable call the first time, and keeps in mind that it may have been made', async () => {
      const id = await insert({ state: 'in_flight', leaseInMs: -1, operations: [{ kind: 'lead', state: 'in_flight', attempts: 3 }] });
      await sweep(sweptTarget({ nativeIdempotency: true }));
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'pending', operations: [{ state: 'pending', attempts: 3 }] });
      expect(await topicsOf(rig.db)).toEqual(['wake']);
      expect(await outcomesOf(rig.db)).toEqual(['lease_expired']);
      expect(await rig.db.sql('rig.mark', 'SELECT sending_at IS NOT NULL AS sent FROM operation', [])).toEqual([{ sent: true }]);
    });

    it.each([
      ['was not marked', {}],
      ['was marked by an earlier claim only', { sendingAgoMs: 60_000 }],
    ])('counts nothing for a repeatable call that was lost before and %s, and scatters it', async (_name, sent) => {
      const lost = { kind: 'lead', state: 'in_flight', attempts: 3, code: 'lease_expired', ...sent } as const;
      const ids = await Promise.all(Array.from({ length: 8 }, () => insert({ state: 'in_flight', leaseInMs: -1, operations: [lost] })));
      await sweep(sweptTarget({ nativeIdempotency: true }));
      const rows = await Promise.all(ids.map((id) => rowOf(rig.db, id)));
      for (const row of rows) {
        expect(row).toMatchObject({ state: 'pending', operations: [{ state: 'pending', attempts: 3 }] });
        expect(row.due_ms).toBeLessThanOrEqual(5_000);
      }
      expect(new Set(rows.map(({ due_ms }) => Math.round(due_ms ?? 0))).size).toBeGreaterThan(1);
      expect(await outcomesOf(rig.db)).toEqual([]);
    });

    it('ends a repeatable call after its last attempt: dead, or uncertain where it can be looked up', async () => {
      const sent = { kind: 'lead', state: 'in_flight', attempts: 3, code: 'lease_expired', sendingAgoMs: 1_000, marked: true } as const;
      const last: RowOptions = { state: 'in_flight', leaseInMs: -1, operations: [sent] };
      const id = await insert(last);
      await sweep(sweptTarget({ nativeIdempotency: true }));
      expect(await rowOf(rig.db, id)).toMatchObject({
        state: 'dead',
        class: 'attempts_exhausted',
        operations: [{ state: 'dead', attempts: 4 }],
      });
      expect(await topicsOf(rig.db)).toEqual(['dlq', 'resolved']);
      expect((await outboxRows(rig.db)).find(({ topic }) => topic === 'dlq')?.headers).toMatchObject({
        'ld-operation-key': leadKey(id),
        'ld-attempts': '4',
        'ld-error-class': 'attempts_exhausted',
      });
      const other = await insert(last);
      await sweep(sweptTarget({ nativeIdempotency: true, canLookUp: () => true }));
      expect(await rowOf(rig.db, other)).toMatchObject({ state: 'uncertain', operations: [{ state: 'uncertain', attempts: 4 }] });
    });

    it('wakes what is scattered by the tier that its wait fits in', async () => {
      const lost = { kind: 'lead', state: 'in_flight', code: 'lease_expired' } as const;
      const id = await insert({ state: 'in_flight', leaseInMs: -1, operations: [lost] });
      await rig.db.sql('rig.claims', 'UPDATE delivery SET claims = 40', []);
      jest.spyOn(Math, 'random').mockReturnValue(0.5);
      await sweep(sweptTarget({ nativeIdempotency: true })).finally(() => jest.restoreAllMocks());
      expect(await topicsOf(rig.db)).toEqual(['wake.1m']);
      const { due_ms } = await rowOf(rig.db, id);
      expect(due_ms).toBeGreaterThan(15_000);
      expect(due_ms).toBeLessThanOrEqual(30_000);
    });

    it('gives back a claim whose operations have lost their rows: neither accepted nor delivered, its deadline ends it', async () => {
      const done: RowOptions = { state: 'in_flight', leaseInMs: -1, operations: [{ kind: 'contact', state: 'succeeded' }] };
      const ids = [await insert({ ...done, lost: ['contact'] }), await insert({ ...done, lost: ['lead'] })];
      await sweep(sweptTarget({ nativeIdempotency: true }));
      for (const id of ids) expect(await rowOf(rig.db, id)).toMatchObject({ state: 'pending' });
      expect(await topicsOf(rig.db)).toEqual(['wake', 'wake']);
    });

    it('wakes hundreds of claims of a dead process in one run, each once', async () => {
      await Promise.all(Array.from({ length: 450 }, () => insert({ state: 'in_flight', leaseInMs: -1 })));
      const sweeper = sweeperOf(rig.db, sweptTarget({ nativeIdempotency: true }));
      while (await sweeper.sweep());
      const woken = await outboxRows(rig.db);
      expect(new Set(woken.map(({ headers }) => headers['ld-event-id'])).size).toBe(450);
      expect(woken).toHaveLength(450);
    });
  });

  describe('of deadlines', () => {
    it.each(['pending', 'waiting', 'held'])('expires a %s delivery with a dead letter and its result', async (state) => {
      const id = await insert({ state, deadlineInMs: hour, dueInMs: state === 'held' ? undefined : 2 * hour });
      await rig.advance(hour - 5_000);
      held = state === 'held' ? ['rig'] : [];
      await sweep();
      expect(await rowOf(rig.db, id)).toMatchObject({ state });
      await rig.advance(hour + 1);
      await sweep();
      expect(await rowOf(rig.db, id)).toMatchObject({
        state: 'expired',
        class: 'deadline_exceeded',
        due_ms: null,
        operations: [{ state: 'expired' }],
      });
      const rows = await outboxRows(rig.db);
      expect(rows.map(({ topic }) => topic)).toEqual(['dlq', 'resolved']);
      expect(rows[0]).toMatchObject({
        headers: { 'ld-event-id': id, 'ld-operation-key': leadKey(id), 'ld-error-class': 'deadline_exceeded' },
      });
      expect([String(rows[0]?.key), String(rows[0]?.value), String(rows[1]?.value)]).toEqual(['person', id, 'expired']);
      await sweep();
      expect(await outboxRows(rig.db)).toHaveLength(2);
    });

    it('expires only what is missing of a partial success', async () => {
      const operations: RowOptions['operations'] = [
        { kind: 'contact', state: 'succeeded', ref: 'C-1', attempts: 1 },
        { kind: 'lead', state: 'waiting', attempts: 2 },
      ];
      const id = await insert({ deadlineInMs: -1, dueInMs: 1_000, operations });
      await sweep();
      expect(await rowOf(rig.db, id)).toMatchObject({
        state: 'expired',
        operations: [{ state: 'succeeded', ref: 'C-1' }, { state: 'expired' }],
      });
      const [letter, result] = await outboxRows(rig.db);
      expect(letter?.headers['ld-attempts']).toBe('2');
      expect(result?.headers.states).toBe('contact=succeeded=C-1 lead=expired=');
    });

    it.each([
      ['none', ['contact']],
      ['what is done', ['lead']],
    ])('expires a delivery that has %s left of its operations', async (_left, lost) => {
      const id = await insert({ deadlineInMs: -1, dueInMs: 1_000, operations: [{ kind: 'contact', state: 'succeeded' }], lost });
      await sweep();
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'expired', class: 'deadline_exceeded' });
      expect(await topicsOf(rig.db)).toEqual(['dlq', 'resolved']);
    });

    it('leaves what is in flight or uncertain to its end', async () => {
      const inFlight = await insert({ state: 'in_flight', leaseInMs: 30_000, deadlineInMs: -1 });
      const uncertain = await insert({ state: 'uncertain', dueInMs: 1_000, deadlineInMs: -1 });
      await sweep();
      expect(await rowOf(rig.db, inFlight)).toMatchObject({ state: 'in_flight' });
      expect(await rowOf(rig.db, uncertain)).toMatchObject({ state: 'uncertain' });
      expect(await outboxRows(rig.db)).toHaveLength(0);
    });

    it.each([true, false])('expires nothing that may have been executed, where it can be looked up: %s', async (lookup) => {
      const id = await insert({ deadlineInMs: -1, dueInMs: 1_000, operations: [{ kind: 'lead', state: 'waiting', sendingAgoMs: 60_000 }] });
      await sweep(sweptTarget({ nativeIdempotency: true, canLookUp: () => lookup }));
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'uncertain', code: 'deadline', operations: [{ state: 'uncertain' }] });
      expect(await outboxRows(rig.db)).toHaveLength(0);
    });

    it('ends a delivery whose event cannot be read any more without its announcement', async () => {
      const id = await insert({ deadlineInMs: -1, dueInMs: 1_000 });
      await sweep(
        sweptTarget({
          resolved: () => {
            throw new Error('unreadable');
          },
        }),
      );
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'expired' });
      expect(await topicsOf(rig.db)).toEqual(['dlq']);
    });
  });

  describe('of holds', () => {
    it('holds what waits for a held destination, and releases it over a while', async () => {
      const ids = await Promise.all([
        insert({
          dueInMs: 1_000,
          operations: [
            { kind: 'contact', state: 'succeeded' },
            { kind: 'lead', state: 'waiting' },
          ],
        }),
        insert({ state: 'pending', dueInMs: 30_000 }),
        insert({ dueInMs: -60_000 }),
      ]);
      const other = await insert({ destination: 'other', dueInMs: 1_000 });
      const flying = await insert({ state: 'in_flight', leaseInMs: 30_000 });
      held = ['rig'];
      await sweep();
      for (const id of ids) expect(await rowOf(rig.db, id)).toMatchObject({ state: 'held', due_ms: null });
      expect((await rowOf(rig.db, ids[0] ?? '')).operations.map(({ state }) => state)).toEqual(['succeeded', 'held']);
      expect(await rowOf(rig.db, other)).toMatchObject({ state: 'waiting' });
      expect(await rowOf(rig.db, flying)).toMatchObject({ state: 'in_flight' });
      expect(await outboxRows(rig.db)).toHaveLength(0);
      held = [];
      await sweep();
      for (const id of ids) {
        const row = await rowOf(rig.db, id);
        expect(row.state).toBe('waiting');
        expect(row.due_ms).toBeLessThanOrEqual(5_000);
      }
      expect(await topicsOf(rig.db)).toEqual(['wake', 'wake', 'wake']);
      await sweep();
      expect(await outboxRows(rig.db)).toHaveLength(3);
    });

    it('goes on in batches until all are held, and all are released', async () => {
      await Promise.all(Array.from({ length: 450 }, () => insert({ dueInMs: 60_000 })));
      const count = async (state: string) =>
        (await rig.db.sql<{ n: number }>('rig.count', 'SELECT count(*)::int AS n FROM delivery WHERE state = $1', [state]))[0]?.n;
      held = ['rig'];
      while (await sweep());
      expect(await count('held')).toBe(450);
      held = [];
      while (await sweep());
      expect(await count('waiting')).toBe(450);
      expect(await outboxRows(rig.db)).toHaveLength(450);
    });

    it('sends two held leads to a destination that is to be probed, and holds the others', async () => {
      await Promise.all(Array.from({ length: 5 }, () => insert({ state: 'held' })));
      [held, probe] = [['rig'], ['rig']];
      await sweep();
      await sweep();
      const states = async () =>
        (await rig.db.sql<{ state: string }>('rig.states', 'SELECT state FROM delivery ORDER BY state', [])).map(({ state }) => state);
      expect(await states()).toEqual(['held', 'held', 'held', 'waiting', 'waiting']);
      expect(await topicsOf(rig.db)).toEqual(['wake', 'wake']);
      probe = [];
      await sweep();
      expect(await states()).toEqual(['held', 'held', 'held', 'held', 'held']);
    });

    it('keeps held by name what has many destinations of one target', async () => {
      const target = sweptTarget({ name: 'notifier' });
      const sweeper = sweeperOf(rig.db, target, { target: () => target, standing: standing({ held: ['notifier'] }) });
      const id = await insert({ destination: 'lead/telegram/ada', dueInMs: 1_000 });
      await sweeper.sweep();
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'held' });
    });
  });
});
