import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { operationKey } from '#contracts';
import { createLogger, newEventId, startTelemetry } from '#runtime';
import {
  insertDelivery,
  openSweepRig,
  outcomesOf,
  type RowOptions,
  type SweepRig,
  sweptTarget,
} from '../../../../test/support/sweep-rig.js';
import type { LookupResult } from '../outcome.js';
import { lookupRequest, lookupRoute } from './lookup-route.js';
import { replayFactsRoute } from './replay-facts-route.js';
import { closeItemsRoute, replayItemsRequest, replayItemsRoute } from './replay-items-route.js';

describe('what a service tells of approved items', () => {
  let rig: SweepRig;
  beforeAll(async () => {
    rig = await openSweepRig('replay_routes');
  });
  afterAll(() => rig.close());
  afterEach(() => rig.clear());

  const dead = (more: RowOptions = {}) => insertDelivery(rig.db, { state: 'dead', ...more });
  const take = (event: string, item: string) =>
    rig.db.sql('spec.take', "UPDATE delivery SET replay_item = $2, state = 'delivered' WHERE event_id = $1", [event, item]);
  const itemOf = (event_id: string, item_id = randomUUID()) => ({ item_id, event_id, destination: 'rig' });

  it('says by the id of the item whether it was applied, and what the delivery came to', async () => {
    const [taken, other] = [itemOf(await dead()), itemOf(await dead())];
    await take(taken.event_id, taken.item_id);
    const unknown = itemOf(newEventId());
    const { items } = await replayItemsRoute(rig.db)({ items: [unknown, other, taken] });
    expect(items).toMatchObject([
      { item_id: unknown.item_id, applied: false, closed: false, state: undefined },
      { item_id: other.item_id, applied: false, closed: false, state: 'dead' },
      { item_id: taken.item_id, applied: true, closed: false, state: 'delivered' },
    ]);
  });

  it('closes what was not applied, and only that', async () => {
    const [taken, open] = [itemOf(await dead()), itemOf(await dead())];
    await take(taken.event_id, taken.item_id);
    const { items } = await closeItemsRoute(rig.db)({ items: [taken, open] });
    expect(items).toMatchObject([
      { applied: true, closed: false },
      { applied: false, closed: true, state: 'dead' },
    ]);
    const again = await closeItemsRoute(rig.db)({ items: [open] });
    expect(again.items).toMatchObject([{ closed: true }]);
    const [row] = await rig.db.sql<{ closed: number }>(
      'spec.closed',
      'SELECT cardinality(closed_items) AS closed FROM delivery WHERE event_id = $1',
      [open.event_id],
    );
    expect(row?.closed).toBe(1);
  });

  it('names pinned requests, doubtful calls and what can be looked up', async () => {
    const event = await dead({
      operations: [
        { kind: 'contact', state: 'succeeded', ref: 'C-1' },
        { kind: 'lead', state: 'dead' },
      ],
    });
    const key = operationKey(event, 'rig', 'lead');
    await rig.db.sql('spec.pin', "UPDATE operation SET request_hash = 'v1:a', mapping_version = 3 WHERE operation_key = $1", [key]);
    const attempt = `INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome, status)
      VALUES ($1, gen_random_uuid(), false, 1, '2026-11-01T10:00:00Z', $2, $3)`;
    const facts = replayFactsRoute({ db: rig.db, target: () => sweptTarget({ mappingVersion: 4, canLookUp: (kind) => kind === 'lead' }) });
    await rig.db.sql('spec.attempt', attempt, [key, 'transient', 429]);
    const first = await facts({ items: [{ event_id: event, destination: 'rig' }] });
    expect(first.items[0]?.operations[1]).toMatchObject({
      kind: 'lead',
      request_hash: 'v1:a',
      mapping_version: 3,
      doubtful_since: undefined,
    });
    await rig.db.sql('spec.attempt', attempt, [key, 'transient', 503]);
    const { items } = await facts({
      items: [
        { event_id: newEventId(), destination: 'rig' },
        { event_id: event, destination: 'rig' },
      ],
    });
    expect(items).toMatchObject([
      null,
      {
        state: 'dead',
        generation: 1,
        mapping_version: 4,
        lookup: ['lead'],
        operations: [
          { kind: 'contact', ref: 'C-1' },
          { kind: 'lead', doubtful_since: '2026-11-01T10:00:00.000Z' },
        ],
      },
    ]);
  });

  it('says for how long a lookup that finds nothing proves nothing: until search and limits of the last doubtful call have passed', async () => {
    const event = await dead();
    const key = operationKey(event, 'rig', 'lead');
    const attempt = `INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome)
      VALUES ($1, gen_random_uuid(), false, $2, clock_now() - $3::int * interval '1 millisecond', 'transient')`;
    const facts = replayFactsRoute({ db: rig.db, target: () => sweptTarget() });
    const unsettled = async () => (await facts({ items: [{ event_id: event, destination: 'rig' }] })).items[0]?.operations[0]?.unsettled;
    await rig.db.sql('spec.old', attempt, [key, 1, 60_000]);
    expect(await unsettled()).toBeUndefined();
    // Limits of the rig's target: 2 s for a call, 2 s to work on after that, 1 s of search lag.
    await rig.db.sql('spec.new', attempt, [key, 2, 2_000]);
    expect(await unsettled()).toBe(true);
    await rig.advance(3_500);
    expect(await unsettled()).toBeUndefined();
  });

  describe('lookups', () => {
    const lookup = (answer: () => Promise<LookupResult>) =>
      lookupRoute({
        db: rig.db,
        verified: (name) => (name === 'rig' ? sweptTarget({ lookup: answer }) : undefined),
        telemetry: startTelemetry({ service: 'rig', ratio: 0 }),
        logger: createLogger('rig', 'silent'),
      });

    it.each<[LookupResult, object]>([
      [
        { kind: 'found', ref: 'L-1' },
        { result: 'found', ref: 'L-1' },
      ],
      [{ kind: 'absent' }, { result: 'absent' }],
      [
        { kind: 'several', refs: ['L-1', 'L-2'] },
        { result: 'several', refs: ['L-1', 'L-2'] },
      ],
      [
        { kind: 'unknown', code: 'timeout' },
        { result: 'unknown', code: 'timeout' },
      ],
    ])('give %j as it is, note it, and change nothing', async (result, expected) => {
      const event_id = await dead();
      const answer = await lookup(async () => result)({ items: [{ event_id, destination: 'rig' }], within_ms: 1_000 });
      expect(answer.items[0]?.operations).toMatchObject([{ kind: 'lead', ...expected }]);
      expect(await outcomesOf(rig.db)).toEqual([`lookup_${result.kind}`]);
    });

    it('of a destination that is asked elsewhere, of an unknown delivery and by a connector that throws say so', async () => {
      const [here, there] = [await dead(), await dead({ destination: 'elsewhere' })];
      const names = [
        { event_id: there, destination: 'elsewhere' },
        { event_id: newEventId(), destination: 'rig' },
        { event_id: here, destination: 'rig', operation_key: operationKey(here, 'rig', 'lead') },
        { event_id: here, destination: 'rig', operation_key: 'another' },
      ];
      const answer = await lookup(() => Promise.reject(new Error('broken')))({ items: names, within_ms: 1_000 });
      expect(answer.items.map(({ operations }) => operations.map(({ result, code }) => [result, code]))).toEqual([
        [['unknown', 'no_lookup']],
        [],
        [['unknown', 'connector_threw']],
        [],
      ]);
    });
  });

  it('takes no more than its limits', () => {
    const one = itemOf(newEventId());
    expect(replayItemsRequest.safeParse({ items: Array.from({ length: 501 }, () => one) }).success).toBe(false);
    expect(lookupRequest.safeParse({ items: Array.from({ length: 17 }, () => one) }).success).toBe(false);
  });
});
