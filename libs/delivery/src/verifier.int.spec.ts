import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { operationKey } from '#contracts';
import {
  insertDelivery,
  openSweepRig,
  outboxRows,
  outcomesOf,
  type RowOptions,
  rowOf,
  type SweepRig,
  sweptTarget,
  topicsOf,
  verifierOf,
} from '../../../test/support/sweep-rig.js';
import type { LookupResult } from './outcome.js';
import type { LookupContext, PlannedOperation } from './target.js';

const minute = 60_000;
/** Timeout and execution of the rig are 2 + 2 s; its search finds a record this long after it was made. */
const searchLagMs = 10_000;
const countsAfterMs = 2_000 + 2_000 + searchLagMs;

describe('the verifier', () => {
  let rig: SweepRig;
  let nowMs = 0;
  let asked: { operation: PlannedOperation; context: LookupContext; atMs: number }[] = [];
  let answer: (atMs: number) => LookupResult | Promise<LookupResult> = () => ({ kind: 'absent' });

  beforeAll(async () => {
    rig = await openSweepRig('verifier');
  });
  afterAll(() => rig.close());
  afterEach(async () => {
    await rig.clear();
    nowMs = 0;
    asked = [];
    answer = () => ({ kind: 'absent' });
  });

  const target = (more: Parameters<typeof sweptTarget>[0] = {}) =>
    sweptTarget({
      verification: { maxExecutionMs: 2_000, searchLagMs, horizonMs: 30 * minute },
      lookup: async (operation, context) => {
        asked.push({ operation, context, atMs: nowMs });
        return answer(nowMs);
      },
      ...more,
    });
  const at = async (ms: number): Promise<void> => {
    nowMs = ms;
    await rig.advance(ms);
  };
  const verify = (more?: Parameters<typeof sweptTarget>[0]) => verifierOf(rig.db, target(more)).verify();
  /** Verifies whenever a row is due, each second of the virtual clock. */
  const verifyUntil = async (untilMs: number, stepMs = 1_000): Promise<void> => {
    for (let ms = nowMs; ms <= untilMs; ms += stepMs) {
      await at(ms);
      await verify();
    }
  };
  /** A call that was marked at 0 and whose answer nobody knows. */
  const uncertain = (more: RowOptions = {}) =>
    insertDelivery(rig.db, {
      state: 'uncertain',
      dueInMs: countsAfterMs,
      operations: [{ kind: 'lead', state: 'uncertain', attempts: 1, sendingAgoMs: 0 }],
      ...more,
    });

  it('asks nothing before a lookup can count', async () => {
    await uncertain();
    await at(countsAfterMs - 1_000);
    expect(await verify()).toBe(0);
    expect(asked).toHaveLength(0);
  });

  it('finds a record of a slow provider behind a search that lags by 10 s, and delivers without a second call', async () => {
    const id = await uncertain();
    // Its work ends as late as allowed, just before it must have given up.
    answer = (atMs) => (atMs >= 3_900 + searchLagMs ? { kind: 'found', ref: 'R-1' } : { kind: 'absent' });
    await verifyUntil(countsAfterMs + 1_000);
    expect(await rowOf(rig.db, id)).toMatchObject({
      state: 'delivered',
      class: null,
      code: null,
      due_ms: null,
      operations: [{ state: 'succeeded', ref: 'R-1' }],
    });
    expect(await outboxRows(rig.db)).toMatchObject([{ topic: 'resolved', headers: { states: 'lead=succeeded=R-1' } }]);
    expect(asked[0]).toMatchObject({
      operation: { kind: 'lead', operationKey: operationKey(id, 'rig', 'lead') },
      context: { eventId: id, personKey: 'person', timeoutMs: 2_000 },
    });
    expect(await outcomesOf(rig.db)).toEqual(['lookup_found']);
  });

  it('does not count what an early look misses', async () => {
    const id = await uncertain({ dueInMs: 0 });
    await verifyUntil(countsAfterMs - 4_000);
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'uncertain', operations: [{ absences: 0 }] });
    expect(asked).toHaveLength(1);
  });

  it('lets a call be made again after two absences a search lag apart', async () => {
    const id = await uncertain();
    await verifyUntil(countsAfterMs + 1_000);
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'uncertain', operations: [{ absences: 1 }] });
    expect(await topicsOf(rig.db)).toEqual([]);
    await verifyUntil(countsAfterMs + searchLagMs + 2_000);
    expect(asked).toHaveLength(2);
    expect((asked[1]?.atMs ?? 0) - (asked[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(searchLagMs);
    const row = await rowOf(rig.db, id);
    expect(row).toMatchObject({ state: 'waiting', code: 'proved_absent', operations: [{ state: 'waiting', attempts: 1 }] });
    expect(row.due_ms).toBeLessThanOrEqual(0);
    expect(await topicsOf(rig.db)).toEqual(['wake']);
    expect(await rig.db.sql('rig.mark', 'SELECT sending_at FROM operation', [])).toEqual([{ sending_at: null }]);
    expect(await outcomesOf(rig.db)).toEqual(['lookup_absent', 'lookup_absent']);
  });

  it.each([
    ['the operation in doubt', ['lead']],
    ['another', ['note']],
  ])('leaves a delivery to its deadline of which %s has lost its row', async (_, lost) => {
    const id = await uncertain({ lost });
    answer = () => ({ kind: 'found', ref: 'R-1' });
    await verifyUntil(countsAfterMs + 1_000);
    const row = await rowOf(rig.db, id);
    expect(row).toMatchObject({ state: 'pending' });
    expect(row.due_ms).toBeLessThanOrEqual(0);
    expect(await topicsOf(rig.db)).toEqual(['wake']);
  });

  it('takes absences of an earlier call for nothing', async () => {
    const id = await uncertain();
    await rig.db.sql('rig.earlier', `UPDATE operation SET absences = 2, looked_up_at = sending_at - interval '1 minute'`, []);
    await verifyUntil(countsAfterMs + 1_000);
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'uncertain', operations: [{ absences: 1 }] });
  });

  it('ends what was proved absent where its attempts are used up or its deadline has passed', async () => {
    const spent = await uncertain({ operations: [{ kind: 'lead', state: 'uncertain', attempts: 4, sendingAgoMs: 0 }] });
    const late = await uncertain({
      deadlineInMs: 20_000,
      operations: [
        { kind: 'contact', state: 'uncertain', attempts: 1, sendingAgoMs: 0 },
        { kind: 'lead', state: 'pending' },
      ],
    });
    await verifyUntil(countsAfterMs + searchLagMs + 2_000);
    expect(await rowOf(rig.db, spent)).toMatchObject({ state: 'dead', class: 'attempts_exhausted', operations: [{ state: 'dead' }] });
    expect(await rowOf(rig.db, late)).toMatchObject({
      state: 'expired',
      class: 'deadline_exceeded',
      operations: [{ state: 'expired' }, { state: 'expired' }],
    });
    expect(await topicsOf(rig.db)).toEqual(['dlq', 'dlq', 'resolved', 'resolved']);
  });

  it.each([
    ['that finds nothing has it end as what it was', 'absent'],
    ['that finds the record outweighs it', 'found'],
  ])('a lookup after a refusal %s', async (_name, found) => {
    const refused = { class: 'permanent', code: 'http_404' } as const;
    const id = await uncertain({
      operations: [
        { kind: 'contact', state: 'uncertain', attempts: 2, sendingAgoMs: 0, ...refused },
        { kind: 'lead', state: 'pending' },
      ],
    });
    answer = () => (found === 'found' ? { kind: 'found', ref: 'C-1' } : { kind: 'absent' });
    await verifyUntil(countsAfterMs + searchLagMs + 2_000);
    if (found === 'found') {
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'pending', operations: [{ state: 'succeeded' }, { state: 'pending' }] });
      expect(await topicsOf(rig.db)).toEqual(['wake']);
      return;
    }
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'dead', ...refused, operations: [{ state: 'dead' }, { state: 'pending' }] });
    expect((await outboxRows(rig.db)).map(({ topic, headers }) => [topic, headers['ld-error-code']])).toEqual([
      ['dlq', 'http_404'],
      ['resolved', undefined],
    ]);
  });

  it.each(['change', 'keep'] as const)(
    'a lookup after a refusal that finds a person who may be older than the call (%s) ends it as what it was refused for, and keeps who they are',
    async (older) => {
      const refused = { class: 'permanent', code: 'http_422' } as const;
      const id = await uncertain({
        operations: [
          { kind: 'contact', state: 'uncertain', attempts: 2, sendingAgoMs: 0, ...refused },
          { kind: 'lead', state: 'pending' },
        ],
      });
      const written = `{"email": "2026-01-05"}`;
      await rig.db.sql('rig.person_clear', `DELETE FROM contact_state`, []);
      await rig.db.sql(
        'rig.person',
        `INSERT INTO contact_state (person_key, destination, owner_key, owner_fields, updated_at) VALUES ('person', 'rig', $1, $2, clock_now())`,
        [operationKey(id, 'rig', 'contact'), written],
      );
      answer = () => ({ kind: 'found', ref: 'C-1' });
      await at(countsAfterMs + 1_000);
      await verify({ older: () => older });
      expect(await rowOf(rig.db, id)).toMatchObject({
        state: 'dead',
        ...refused,
        operations: [{ state: 'dead', ref: null }, { state: 'pending' }],
      });
      expect((await outboxRows(rig.db)).map(({ topic, headers }) => [topic, headers['ld-error-code']])).toEqual([
        ['dlq', 'http_422'],
        ['resolved', undefined],
      ]);
      // None of the lead's fields counts as written, and the next lead of the person changes this record in place of making another.
      const persons = await rig.db.sql('rig.persons', 'SELECT contact_ref, owner_fields FROM contact_state', []);
      expect(persons).toEqual([{ contact_ref: 'C-1', owner_fields: {} }]);
    },
  );

  it.each([
    ['sends again what is proved absent', 'absent', 'waiting', ['wake']],
    ['tells an owner of what it cannot find out', 'unknown', 'uncertain', ['dlq']],
  ] as const)('that comes to a delivery long after its horizon %s', async (_name, kind, state, topics) => {
    const id = await uncertain({ deadlineInMs: 600 * minute });
    answer = () => (kind === 'absent' ? { kind } : { kind, code: 'http_503' });
    await at(60 * minute);
    await verify();
    if (kind === 'absent') expect(await topicsOf(rig.db)).toEqual([]);
    await verifyUntil(60 * minute + searchLagMs + 2_000);
    expect(await rowOf(rig.db, id)).toMatchObject({ state, raised: kind === 'unknown' });
    expect(await topicsOf(rig.db)).toEqual(topics);
  });

  it('never counts a lookup that fails, and finds the record once it works', async () => {
    const id = await uncertain();
    answer = (atMs) => {
      if (atMs < 2 * minute) return { kind: 'unknown', code: 'http_503' };
      if (atMs < 4 * minute) return Promise.reject(new Error('thrown'));
      return { kind: 'found', ref: 'R-1' };
    };
    await verifyUntil(12 * minute, 10_000);
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'delivered', operations: [{ ref: 'R-1', absences: 0 }] });
    const outcomes = await outcomesOf(rig.db);
    expect(new Set(outcomes)).toEqual(new Set(['lookup_unknown', 'lookup_found']));
    // It waits longer each time: far fewer than one per due second.
    expect(outcomes.length).toBeLessThan(20);
    expect(await topicsOf(rig.db)).toEqual(['resolved']);
  });

  it('takes two matches for nobody to choose from: dead, with a dead letter', async () => {
    const id = await uncertain();
    answer = () => ({ kind: 'several', refs: ['R-1', 'R-2'] });
    await verifyUntil(countsAfterMs + 1_000);
    expect(await rowOf(rig.db, id)).toMatchObject({
      state: 'dead',
      class: 'permanent',
      code: 'several_matches',
      operations: [{ state: 'dead', ref: null }],
    });
    const [letter] = await outboxRows(rig.db);
    expect(letter).toMatchObject({ topic: 'dlq', headers: { 'ld-error-class': 'permanent', 'ld-error-code': 'several_matches' } });
    expect(await topicsOf(rig.db)).toEqual(['dlq', 'resolved']);
  });

  it('tells an owner once about what stays unanswered, and sends nothing again by itself', async () => {
    const id = await uncertain({ deadlineInMs: 100 * 60 * minute });
    answer = () => ({ kind: 'unknown', code: 'timeout' });
    await verifyUntil(29 * minute, 30_000);
    expect(await topicsOf(rig.db)).toEqual([]);
    await verifyUntil(31 * minute, 10_000);
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'uncertain', class: 'unverified_write', raised: true });
    const [letter] = await outboxRows(rig.db);
    expect(letter).toMatchObject({ topic: 'dlq', headers: { 'ld-error-class': 'unverified_write', 'ld-attempts': '1' } });
    // From here on the search works and finds nothing: a person was told, so a person decides.
    answer = () => ({ kind: 'absent' });
    await verifyUntil(10 * 60 * minute, 10 * minute);
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'uncertain', raised: true });
    expect(await topicsOf(rig.db)).toEqual(['dlq']);
    expect(asked.filter(({ atMs }) => atMs > 31 * minute).length).toBeLessThanOrEqual(20);
    answer = () => ({ kind: 'found', ref: 'R-9' });
    await verifyUntil(12 * 60 * minute, 10 * minute);
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'delivered', raised: false, operations: [{ ref: 'R-9' }] });
    expect(await topicsOf(rig.db)).toEqual(['dlq', 'resolved']);
  });

  it('without any lookup leaves it uncertain, and tells an owner once', async () => {
    const id = await uncertain({ deadlineInMs: -1 });
    const none = { lookup: undefined, canLookUp: () => false };
    for (const ms of [countsAfterMs, 29 * minute, 30 * minute + 1_000, 300 * minute, 3_000 * minute]) {
      await at(ms);
      await verify(none);
    }
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'uncertain', raised: true, due_ms: null, class: 'unverified_write' });
    expect(await topicsOf(rig.db)).toEqual(['dlq']);
    expect(await outcomesOf(rig.db)).toEqual([]);
  });

  it('goes on with the rest of a delivery whose first operation is found', async () => {
    const id = await uncertain({
      operations: [
        { kind: 'contact', state: 'uncertain', attempts: 1, sendingAgoMs: 0 },
        { kind: 'lead', state: 'pending' },
      ],
    });
    answer = () => ({ kind: 'found', ref: 'C-1' });
    await verifyUntil(countsAfterMs + 1_000);
    const row = await rowOf(rig.db, id);
    expect(row).toMatchObject({ state: 'pending', operations: [{ state: 'succeeded', ref: 'C-1' }, { state: 'pending' }] });
    expect(row.due_ms).toBeLessThanOrEqual(0);
    expect(await topicsOf(rig.db)).toEqual(['wake']);
  });

  it('looks each row up in one process only', async () => {
    await Promise.all(Array.from({ length: 20 }, () => uncertain({ dueInMs: 0 })));
    answer = () => ({ kind: 'found', ref: 'R-1' });
    const processes = Array.from({ length: 3 }, () => verifierOf(rig.db, target()));
    for (let left = 1; left > 0; ) left = (await Promise.all(processes.map((one) => one.verify()))).reduce((sum, taken) => sum + taken, 0);
    expect(asked).toHaveLength(20);
    expect(new Set(asked.map(({ context }) => context.eventId)).size).toBe(20);
  });

  it('keeps the answer that came while it asked', async () => {
    const id = await uncertain({ dueInMs: 0 });
    answer = async () => {
      await rig.db.sql('rig.late', `UPDATE delivery SET state = 'delivered', attempt_id = NULL, lease_until = NULL`, []);
      await rig.db.sql('rig.late_op', `UPDATE operation SET state = 'succeeded', destination_ref = 'R-late'`, []);
      return { kind: 'several', refs: ['R-1', 'R-2'] };
    };
    await verify();
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'delivered', operations: [{ state: 'succeeded', ref: 'R-late' }] });
    expect(await rig.db.sql('rig.late_notes', 'SELECT outcome, late FROM attempt', [])).toEqual([
      { outcome: 'lookup_several', late: true },
    ]);
    expect(await topicsOf(rig.db)).toEqual([]);
  });

  it('takes over what a dead process had leased a little after the longest lookup would have ended', async () => {
    const id = await uncertain({ dueInMs: 0 });
    answer = () => new Promise(() => {});
    const dead = verifierOf(rig.db, target(), { longestLookupMs: 8_000 });
    void dead.verify();
    while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    answer = () => ({ kind: 'found', ref: 'R-1' });
    await at(12_000);
    await verify();
    expect(asked).toHaveLength(1);
    await at(14_000);
    await verify();
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'delivered' });
  });

  it('leaves destinations alone that another process serves', async () => {
    const id = await uncertain({ destination: 'elsewhere', dueInMs: 0 });
    await verify();
    const row = await rowOf(rig.db, id);
    expect(row).toMatchObject({ state: 'uncertain' });
    expect(await rig.db.sql('rig.leased', 'SELECT lease_until FROM delivery', [])).toEqual([{ lease_until: null }]);
  });
});
