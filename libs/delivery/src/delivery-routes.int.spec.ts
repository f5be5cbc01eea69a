import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { operationKey } from '#contracts';
import { createLogger, newEventId, startInternalServer, startTelemetry } from '#runtime';
import {
  insertDelivery,
  openSweepRig,
  outboxRows,
  outcomesOf,
  type RowOptions,
  rowOf,
  type SweepRig,
  sweeperOf,
  sweptTarget,
  topicsOf,
  verifierOf,
} from '../../../test/support/sweep-rig.js';
import { type CommandRequest, commandRequest } from './command-request.js';
import { commandRoute } from './delivery-commands.js';
import { destinationsRoute } from './destination/index.js';
import { type ExpireRequest, expireRequest, expireRoute } from './expire-route.js';
import { historyRoute } from './history-route.js';
import { serveDeliveries } from './serve-deliveries.js';
import { statesRoute } from './states-route.js';
import { unresolvedRoute } from './unresolved-route.js';

const hour = 3_600_000;

describe('what a service tells others of its deliveries', () => {
  let rig: SweepRig;
  beforeAll(async () => {
    rig = await openSweepRig('routes');
  });
  afterAll(() => rig.close());
  afterEach(() => rig.clear());

  const insert = (options?: RowOptions) => insertDelivery(rig.db, options);
  const shared = () => ({
    db: rig.db,
    target: (destination: string) => (destination === 'rig' ? sweptTarget() : undefined),
    verified: () => undefined,
    relayWake: () => {},
    decode: () => Promise.reject(new Error('not asked for')),
    telemetry: startTelemetry({ service: 'rig', ratio: 0 }),
    logger: createLogger('rig', 'silent'),
  });

  describe('states', () => {
    it('answers in the order asked, by event and destination, and names nothing for what was not claimed', async () => {
      const id = await insert({ dueInMs: hour });
      const unknown = newEventId();
      const answer = await statesRoute(rig.db)({
        items: [{ event_id: unknown }, { event_id: id.toUpperCase() }, { event_id: id, destination: 'other' }],
      });
      expect(answer.items.map(({ event_id }) => event_id)).toEqual([unknown, id.toUpperCase(), id]);
      expect(answer.items[0]?.deliveries).toEqual([]);
      expect(answer.items[2]?.deliveries).toEqual([]);
      const iso = expect.stringMatching(/^\d{4}-.*Z$/);
      expect(answer.items[1]?.deliveries).toEqual([
        {
          destination: 'rig',
          state: 'waiting',
          class: undefined,
          code: undefined,
          generation: 1,
          deadline_at: iso,
          next_attempt_at: iso,
          as_of: iso,
          complete: true,
          operations: [{ kind: 'lead', state: 'waiting', ref: undefined, operation_key: operationKey(id, 'rig', 'lead'), attempts: 0 }],
        },
      ]);
    });

    it('says so when an operation that was declared is gone', async () => {
      const id = await insert({
        operations: [
          { kind: 'contact', state: 'succeeded' },
          { kind: 'lead', state: 'waiting' },
        ],
      });
      await rig.db.sql('rig.lose', `DELETE FROM operation WHERE kind = 'lead'`, []);
      const [item] = (await statesRoute(rig.db)({ items: [{ event_id: id }] })).items;
      expect(item?.deliveries).toMatchObject([{ complete: false, operations: [{ kind: 'contact' }] }]);
    });

    it('gives no time for what waits for a person alone', async () => {
      const id = await insert({ state: 'uncertain' });
      await rig.db.sql('rig.never', `UPDATE delivery SET next_attempt_at = 'infinity'`, []);
      const [item] = (await statesRoute(rig.db)({ items: [{ event_id: id }] })).items;
      expect(item?.deliveries[0]?.next_attempt_at).toBeUndefined();
    });
  });

  describe('history', () => {
    it('tells calls and lookups in their order, and leaves out what it does not know', async () => {
      const id = await insert({
        state: 'uncertain',
        dueInMs: 0,
        operations: [
          { kind: 'contact', state: 'succeeded', ref: 'C-1', attempts: 1 },
          { kind: 'lead', state: 'uncertain', attempts: 1, sendingAgoMs: 60_000 },
        ],
      });
      const key = operationKey(id, 'rig', 'lead');
      await rig.db.sql(
        'rig.attempt',
        `INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, duration_ms, outcome, code, status, provider_request_id, trace_id)
         VALUES ($1, gen_random_uuid(), false, 1, clock_now() - interval '1 minute', 2000, 'uncertain', 'http_504', 504, 'req-1', 'abc')`,
        [key],
      );
      await verifierOf(rig.db, sweptTarget({ lookup: () => Promise.resolve({ kind: 'unknown', code: 'http_503' }) })).verify();
      const answer = await historyRoute(rig.db)({
        records: false,
        items: [
          { event_id: newEventId(), destination: 'rig' },
          { event_id: id, destination: 'other' },
          { event_id: id.toUpperCase(), destination: 'rig' },
        ],
      });
      expect(answer.items).toMatchObject([
        {
          event_id: id,
          destination: 'rig',
          state: 'uncertain',
          generation: 1,
          original_deadline_at: undefined,
          operations: [
            { kind: 'contact', state: 'succeeded', ref: 'C-1', attempts: 1 },
            { kind: 'lead', state: 'uncertain', attempts: 1, operation_key: key },
          ],
          attempts: [
            {
              outcome: 'uncertain',
              number: 1,
              status: 504,
              code: 'http_504',
              duration_ms: 2000,
              provider_request_id: 'req-1',
              late: false,
            },
            { outcome: 'lookup_unknown', number: 1, code: 'http_503', late: false },
          ],
        },
      ]);
      expect(answer.items[0]?.attempts[0]?.started_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    });
  });

  describe('what is unresolved', () => {
    it('lists all that a person must decide about, page by page, and nothing else', async () => {
      const ids: string[] = [];
      for (const state of ['dead', 'expired', 'dead', 'uncertain', 'dead']) {
        ids.push(await insert({ state }));
        await rig.advance(ids.length * 1_000);
      }
      await rig.db.sql('rig.raise', `UPDATE delivery SET raised_at = clock_now() WHERE state = 'uncertain'`, []);
      for (const state of ['uncertain', 'delivered', 'waiting', 'discarded']) await insert({ state });
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const page: Awaited<ReturnType<ReturnType<typeof unresolvedRoute>>> = await unresolvedRoute(rig.db)({ after, limit: 2 });
        seen.push(...page.items.map(({ event_id }) => event_id));
        after = page.next;
      } while (after !== undefined);
      expect(seen).toEqual(ids);
    });

    it('begins anew for a cursor that is none', async () => {
      const id = await insert({ state: 'dead' });
      for (const after of ['x', Buffer.from('["1"]').toString('base64url')]) {
        expect((await unresolvedRoute(rig.db)({ after, limit: 10 })).items).toMatchObject([{ event_id: id, state: 'dead' }]);
      }
    });
  });

  describe('expiry of what nobody claimed', () => {
    const item = (more: Record<string, unknown> = {}): ExpireRequest['items'][number] =>
      expireRequest.parse({
        items: [
          {
            event_id: newEventId(),
            destination: 'rig',
            lead_ref: 'L-1',
            submitted_at: new Date(Date.now() - 2 * hour).toISOString(),
            deadline_at: new Date(Date.now() - hour).toISOString(),
            test: false,
            record_key: Buffer.from('person').toString('base64'),
            event: Buffer.from('event').toString('base64'),
            ...more,
          },
        ],
      }).items[0] as ExpireRequest['items'][number];

    it('ends each with operations, dead letter and result, once, and touches no row that exists', async () => {
      const [first, early, foreign] = [
        item(),
        item({ deadline_at: new Date(Date.now() + hour).toISOString() }),
        item({ destination: 'gone' }),
      ];
      const known = item({ event_id: await insert({ dueInMs: hour, deadlineInMs: -1 }) });
      const expire = expireRoute(shared());
      const answer = await expire({ items: [first, early, foreign, known, first] });
      expect(answer.items.map(({ result }) => result)).toEqual(['expired', 'early', 'unknown_destination', 'known', 'expired']);
      expect(await rowOf(rig.db, first.event_id)).toMatchObject({
        state: 'expired',
        class: 'deadline_exceeded',
        operations: [{ kind: 'lead', state: 'expired', attempts: 0 }],
      });
      expect(await rowOf(rig.db, known.event_id)).toMatchObject({ state: 'waiting' });
      const rows = await outboxRows(rig.db);
      expect(rows.map(({ topic }) => topic)).toEqual(['dlq', 'resolved']);
      expect(rows[0]).toMatchObject({
        headers: { 'ld-event-id': first.event_id, 'ld-error-class': 'deadline_exceeded', 'ld-attempts': '0' },
      });
      expect([String(rows[0]?.key), String(rows[0]?.value)]).toEqual(['person', 'event']);
      expect((await expire({ items: [first] })).items).toMatchObject([{ result: 'known' }]);
      expect(await outboxRows(rig.db)).toHaveLength(2);
      expect((await statesRoute(rig.db)({ items: [{ event_id: first.event_id }] })).items[0]?.deliveries).toMatchObject([
        { complete: true },
      ]);
    });

    it('takes all others where the database refuses one', async () => {
      const items = Array.from({ length: 9 }, (_, index) => item(index === 4 ? { lead_ref: 'L-\u0000' } : {}));
      const answer = await expireRoute(shared())({ items });
      const results = answer.items.map(({ result }) => result);
      expect(results).toEqual(items.map((_, index) => (index === 4 ? 'refused' : 'expired')));
      expect(await outboxRows(rig.db)).toHaveLength(16);
    });

    it('is safe to hand over twice at once', async () => {
      const items = Array.from({ length: 100 }, () => item());
      const [one, other] = await Promise.all([expireRoute(shared())({ items }), expireRoute(shared())({ items: [...items].reverse() })]);
      const results = [...one.items, ...other.items].map(({ result }) => result);
      expect(results.filter((result) => result === 'expired')).toHaveLength(100);
      expect(results.filter((result) => result === 'known')).toHaveLength(100);
      expect(await outboxRows(rig.db)).toHaveLength(200);
    });
  });

  describe('commands', () => {
    const command = (body: Record<string, unknown>) =>
      commandRoute(shared())(commandRequest.parse({ by: 'ada', reason: 'test', ...body }) as CommandRequest);

    it.each(['waiting', 'pending', 'held', 'dead', 'expired'])('discards a %s delivery for good', async (state) => {
      const id = await insert({ state, dueInMs: hour });
      expect(await command({ command: 'discard', event_id: id, destination: 'rig' })).toEqual({ applied: true, state: 'discarded' });
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'discarded', due_ms: null, operations: [{ state: 'discarded' }] });
      expect(await topicsOf(rig.db)).toEqual(['resolved']);
      expect(await outcomesOf(rig.db)).toEqual(['discarded']);
      expect(await command({ command: 'discard', event_id: id, destination: 'rig' })).toEqual({
        applied: false,
        reason: 'not_in_this_state',
        state: 'discarded',
      });
    });

    it.each(['in_flight', 'delivered'])('does not discard what is %s', async (state) => {
      const id = await insert({
        state,
        leaseInMs: 30_000,
        operations: [{ kind: 'lead', state: state === 'delivered' ? 'succeeded' : 'in_flight' }],
      });
      expect(await command({ command: 'discard', event_id: id, destination: 'rig' })).toMatchObject({ applied: false, state });
      expect(await rowOf(rig.db, id)).toMatchObject({ state });
    });

    it('discards what may have happened only with evidence', async () => {
      const id = await insert({ state: 'uncertain' });
      expect(await command({ command: 'discard', event_id: id, destination: 'rig' })).toMatchObject({ applied: false, state: 'uncertain' });
      expect(await command({ command: 'discard', event_id: id, destination: 'rig', evidence: 'ticket 7' })).toMatchObject({
        applied: true,
      });
    });

    it('takes a person’s word: found ends or goes on, absent is sent again within its limits', async () => {
      const key = (id: string) => operationKey(id, 'rig', 'lead');
      const say = (id: string, finding: object) =>
        command({ command: 'evidence', event_id: id, destination: 'rig', operation_key: key(id), finding });
      const found = await insert({ state: 'uncertain' });
      expect(await say(found, { kind: 'found', ref: 'R-1' })).toEqual({ applied: true, state: 'delivered' });
      expect(await rowOf(rig.db, found)).toMatchObject({ operations: [{ state: 'succeeded', ref: 'R-1' }] });
      const overdue = (attempts: number) => [{ kind: 'lead', state: 'uncertain' as const, attempts, sendingAgoMs: 6_000 }];
      const absent = await insert({ state: 'uncertain', operations: overdue(1) });
      expect(await say(absent, { kind: 'absent' })).toEqual({ applied: true, state: 'waiting' });
      const spent = await insert({ state: 'uncertain', operations: overdue(4) });
      expect(await say(spent, { kind: 'absent' })).toEqual({ applied: true, state: 'dead' });
      const late = await insert({ state: 'uncertain', deadlineInMs: -1, operations: overdue(1) });
      expect(await say(late, { kind: 'absent' })).toEqual({ applied: true, state: 'expired' });
      expect(await say(late, { kind: 'found', ref: 'R-2' })).toEqual({ applied: true, state: 'delivered' });
      expect(await say(found, { kind: 'absent' })).toMatchObject({ applied: false, state: 'delivered' });
      expect((await outboxRows(rig.db)).map(({ topic }) => topic)).toEqual([
        'resolved',
        'wake',
        'dlq',
        'resolved',
        'dlq',
        'resolved',
        'resolved',
      ]);
      expect([...new Set(await outcomesOf(rig.db))].sort()).toEqual(['evidence_absent', 'evidence_found']);
    });

    it('takes nobody’s word that it is not there while the call may still take effect, and says when', async () => {
      const sent = [{ kind: 'lead', state: 'uncertain' as const, attempts: 1, sendingAgoMs: 2_000 }];
      const id = await insert({ state: 'uncertain', operations: sent });
      const body = { command: 'evidence', event_id: id, destination: 'rig', operation_key: operationKey(id, 'rig', 'lead') };
      const answer = await command({ ...body, finding: { kind: 'absent' } });
      expect(answer).toMatchObject({ applied: false, reason: 'too_early', state: 'uncertain', absence_counts_from: expect.any(String) });
      expect(answer.wait_ms).toBeLessThanOrEqual(3_000);
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'uncertain', operations: [{ state: 'uncertain' }] });
      expect(await outboxRows(rig.db)).toEqual([]);
      await rig.advance(3_000);
      expect(await command({ ...body, finding: { kind: 'absent' } })).toEqual({ applied: true, state: 'waiting' });
    });

    it.each(['waiting', 'pending', 'held'] as const)('lets who found it stop what another’s word has made %s', async (state) => {
      const id = await insert({ state, dueInMs: 0, operations: [{ kind: 'lead', state, attempts: 1 }] });
      const body = { command: 'evidence', event_id: id, destination: 'rig', operation_key: operationKey(id, 'rig', 'lead') };
      expect(await command({ ...body, finding: { kind: 'found', ref: 'R-1' } })).toEqual({ applied: true, state: 'delivered' });
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'delivered', due_ms: null, operations: [{ state: 'succeeded', ref: 'R-1' }] });
      expect(await topicsOf(rig.db)).toEqual(['resolved']);
    });

    it('notes what was found while another call is made, and leaves that call alone', async () => {
      const operations = [{ kind: 'lead', state: 'in_flight' as const, attempts: 1 }];
      const id = await insert({ state: 'in_flight', leaseInMs: 30_000, operations });
      const body = { command: 'evidence', event_id: id, destination: 'rig', operation_key: operationKey(id, 'rig', 'lead') };
      expect(await command({ ...body, finding: { kind: 'found', ref: 'R-1' } })).toMatchObject({ applied: false, state: 'in_flight' });
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'in_flight', operations: [{ state: 'in_flight', ref: null }] });
      expect(await outcomesOf(rig.db)).toEqual(['evidence_found']);
    });

    it('holds and releases a destination: what waits for it is held, and goes on', async () => {
      const id = await insert({ dueInMs: hour });
      const sweeper = sweeperOf(rig.db, sweptTarget(), { standing: undefined });
      expect(await command({ command: 'hold', destination: 'rig' })).toEqual({ applied: true });
      await sweeper.sweep();
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'held' });
      expect(await command({ command: 'release', destination: 'rig' })).toEqual({ applied: true });
      await sweeper.sweep();
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'waiting' });
    });

    it.each(['hold', 'release'] as const)('%s says so where there is no such destination, and notes nothing', async (word) => {
      // A delivery may have a name of its own under a destination (a notification); nothing is held by that.
      const target = (name: string) => (name === 'rig' || name === 'rig/one' ? sweptTarget() : undefined);
      const route = commandRoute({ ...shared(), target });
      for (const destination of ['gone', 'rig/one']) {
        const body = commandRequest.parse({ command: word, destination, by: 'ada', reason: 'test' });
        expect(await route(body)).toEqual({ applied: false, reason: 'unknown_destination' });
      }
      expect((await destinationsRoute(rig.db)()).items.map(({ destination }) => destination)).not.toContain('gone');
      expect((await destinationsRoute(rig.db)()).items.map(({ destination }) => destination)).not.toContain('rig/one');
    });

    it('knows neither foreign destinations nor deliveries that are not here', async () => {
      const id = newEventId();
      expect(await command({ command: 'discard', event_id: id, destination: 'gone' })).toEqual({
        applied: false,
        reason: 'unknown_destination',
      });
      expect(await command({ command: 'discard', event_id: id, destination: 'rig' })).toEqual({
        applied: false,
        reason: 'unknown_delivery',
      });
    });
  });

  it('serves each route to its callers alone', async () => {
    const tokens = { intake: 'a', reconciler: 'b', operator: 'c', notifier: 'd' };
    const logger = createLogger('rig', 'silent');
    const server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens, readiness: [], logger });
    serveDeliveries(server, shared());
    const ask = async (route: string, token: string) =>
      (
        await fetch(`http://127.0.0.1:${server.port}/internal/v1/${route}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}` },
          body: '{}',
        })
      ).status;
    const answers: Record<string, number[]> = {};
    for (const route of [
      'deliveries:state',
      'deliveries:history',
      'deliveries:unresolved',
      'deliveries:command',
      'deliveries:expire',
      'destinations:state',
    ]) {
      answers[route] = await Promise.all(['a', 'b', 'c', 'd'].map((token) => ask(route, token)));
    }
    await server.stop();
    // 422 and 200 were let in, 403 was not.
    expect(answers).toEqual({
      'deliveries:state': [422, 422, 422, 403],
      'deliveries:history': [403, 403, 422, 403],
      'deliveries:unresolved': [403, 200, 200, 403],
      'deliveries:command': [403, 403, 422, 403],
      'deliveries:expire': [422, 403, 403, 403],
      'destinations:state': [200, 200, 200, 403],
    });
  });
});
