import { describe, expect, it } from '@jest/globals';
import { newEvents, type RigEvent, type RigReceived, received, until, wakeUps } from '../../../test/support/delivery-rig.js';
import { deliveryWorld } from '../../../test/support/delivery-world.js';
import type { Contacts, ContactWrite } from './contacts/contacts.js';
import type { Outcome } from './outcome.js';

const timeout: Outcome = { kind: 'uncertain', code: 'timeout' };
const refused: Outcome = { kind: 'transient', code: 'econnrefused', provablyNotExecuted: true };
const invalid: Outcome = { kind: 'permanent', class: 'permanent', code: 'bad_field', status: 422 };

describe('a delivery that fails', () => {
  const world = deliveryWorld('failures');
  const one = (deadlineInMs?: number): RigEvent => newEvents(1, deadlineInMs)[0] as RigEvent;
  const always = (outcome: Outcome) => {
    world.crm.behave = () => outcome;
  };
  const failing = (outcome: Outcome, times = 1) => {
    world.crm.behave = (_key, execute, count) => (count <= times ? outcome : { kind: 'succeeded', ref: execute() });
  };
  const rowOf = async (event: RigEvent) => {
    const [row] = await world.db.sql<{ state: string; class: string | null; code: string | null; due_ms: number | null; now_ms: number }>(
      'rig.row',
      `SELECT state, class, code, (extract(epoch FROM next_attempt_at) * 1000)::float8 AS due_ms,
         (extract(epoch FROM clock_now()) * 1000)::float8 AS now_ms FROM delivery WHERE event_id = $1`,
      [event.id],
    );
    if (row === undefined) throw new Error('no row');
    return row;
  };
  const wakeHeaders = async () => {
    const rows = await world.db.sql<{ topic: string; headers: Record<string, string> }>(
      'rig.tiers',
      `SELECT topic, headers FROM outbox WHERE topic LIKE '%.retry.%'`,
      [],
    );
    return rows;
  };

  describe('waits', () => {
    it.each<[string, Outcome]>([
      ['a 503', { kind: 'uncertain', code: 'http_503', status: 503 }],
      ['a refused connection', refused],
      ['a 429', { kind: 'throttled', code: 'http_429', status: 429, afterMs: 20 }],
    ])('after %s: its group goes on, its retry delivers it once', async (_name, outcome) => {
      failing(outcome);
      const { take, paused } = world.start({ tiers: true });
      const record = received(one());
      take([record]);
      await until('it is delivered', async () => (await world.states()).delivered === 1);
      expect(record.receipt.settled).toBe(true);
      expect(paused.size).toBe(0);
      expect(await world.attempts()).toMatchObject([
        { outcome: outcome.kind, code: 'code' in outcome ? outcome.code : null },
        { outcome: 'succeeded' },
      ]);
      expect(world.crm.records).toHaveLength(1);
      expect(await world.announced()).toEqual(['delivered']);
    });

    it('until the time that its row and its record on the smallest tier name alike', async () => {
      failing(refused);
      const event = one();
      const record = received(event, { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' });
      world.start({ backoff: { baseMs: 15_000, capMs: 300_000 } }).take([record]);
      await world.settled([record]);
      const row = await rowOf(event);
      expect(row).toMatchObject({ state: 'waiting', code: 'econnrefused', class: null });
      expect(await wakeHeaders()).toEqual([
        {
          topic: 'main.rig.retry.15s',
          headers: {
            'ld-event-id': event.id,
            'ld-destinations': 'rig',
            'ld-not-before': String(row.due_ms),
            'ld-deadline-at': String(event.deadlineMs),
            'ld-origin-topic': 'main',
            'ld-origin-partition': '0',
            'ld-origin-offset': String(record.receipt.record.offset),
            traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
          },
        },
      ]);
    });

    it.each([
      [40_000, 'main.rig.retry.1m'],
      [200_000, 'main.rig.retry.5m'],
    ])('%i ms on the tier that fits', async (afterMs, topic) => {
      failing({ kind: 'throttled', code: 'http_429', afterMs });
      const record = received(one());
      world.start().take([record]);
      await world.settled([record]);
      expect(await wakeHeaders()).toMatchObject([{ topic }]);
    });

    it('without a record where it waits longer than the largest tier', async () => {
      failing({ kind: 'throttled', code: 'http_429', afterMs: 400_000 });
      const event = one();
      const record = received(event);
      world.start().take([record]);
      await world.settled([record]);
      const { state, due_ms, now_ms } = await rowOf(event);
      expect(state).toBe('waiting');
      expect((due_ms ?? 0) - now_ms).toBeGreaterThan(390_000);
      expect(await wakeHeaders()).toEqual([]);
    });

    it('and comes back to memory where its record is early; one of the main topic is dropped', async () => {
      failing({ kind: 'throttled', code: 'http_429', afterMs: 300 });
      const event = one();
      const first = received(event);
      const { take } = world.start();
      take([first]);
      await world.settled([first]);
      const again = received(event);
      take([again]);
      await world.settled([again]);
      expect(again.receipt.redeliveries).toEqual([]);
      const [woken] = (await wakeUps(world.db)) as [RigReceived];
      take([woken]);
      await world.settled([woken]);
      expect(woken.receipt.redeliveries).toHaveLength(1);
      expect((world.crm.requests[1]?.at ?? 0) - (world.crm.requests[0]?.at ?? 0)).toBeGreaterThanOrEqual(300);
      expect(await world.stateOf(event)).toBe('delivered');
    });

    it('as a new trace, while the first call belongs to the caller’s', async () => {
      const traceId = '0af7651916cd43dd8448eb211c80319c';
      failing({ kind: 'throttled', code: 'http_429' });
      world.start({ tiers: true }).take([received(one(), { traceparent: `00-${traceId}-b7ad6b7169203331-01` })]);
      await until('it was retried', () => world.crm.requests.length === 2);
      expect(world.crm.requests[0]?.context.trace.traceId).toBe(traceId);
      expect(world.crm.requests[1]?.context.trace.traceId).not.toBe(traceId);
    });

    it('alone: one that is refused ten times over holds up none of the hundred behind it', async () => {
      const events = newEvents(101);
      const poison = events[0] as RigEvent;
      world.crm.behave = (key, execute) => (key.startsWith(poison.id) ? timeout : { kind: 'succeeded', ref: execute() });
      const { take, paused } = world.start({ concurrency: 2, tiers: true, attempts: 10 });
      const all = events.map((event) => received(event));
      take(all);
      await until('the poison is dead', async () => (await world.states()).dead === 1);
      expect(await world.states()).toEqual({ delivered: 100, dead: 1 });
      expect(world.crm.of(`${poison.id}:rig:lead`)).toHaveLength(10);
      expect(paused.size).toBe(0);
    }, 30_000);
  });

  describe('dies', () => {
    it('at once where it is refused for good, with a dead letter of its own bytes', async () => {
      always(invalid);
      const event = one();
      const record = received(event);
      world.start().take([record]);
      await world.settled([record]);
      expect(await rowOf(event)).toMatchObject({ state: 'dead', class: 'permanent', code: 'bad_field', due_ms: null });
      expect(await world.operationsOf(event)).toMatchObject([{ state: 'dead', class: 'permanent', code: 'bad_field', attempts: 1 }]);
      const [letter, ...more] = await world.outbox('dlq');
      expect(more).toEqual([]);
      expect(letter?.value).toEqual(record.receipt.record.value);
      expect(letter?.key).toEqual(record.receipt.record.key);
      expect(letter?.headers).toMatchObject({
        'ld-event-id': event.id,
        'ld-destinations': 'rig',
        'ld-operation-key': `${event.id}:rig:lead`,
        'ld-attempts': '1',
        'ld-error-class': 'permanent',
        'ld-error-code': 'bad_field',
        'ld-error-status': '422',
        'ld-error-ref': event.ref,
        'ld-origin-topic': 'main',
        'ld-deadline-at': String(event.deadlineMs),
      });
      expect(await world.announced()).toEqual(['dead']);
    });

    it('when its attempts are used up, and not before', async () => {
      always(refused);
      const event = one();
      world.start({ tiers: true, attempts: 3 }).take([received(event)]);
      await until('it is dead', async () => (await world.stateOf(event)) === 'dead');
      expect(world.crm.requests).toHaveLength(3);
      expect(await rowOf(event)).toMatchObject({ class: 'attempts_exhausted', code: 'econnrefused' });
      expect((await world.attempts(event)).map(({ number }) => number)).toEqual([1, 2, 3]);
      const [letter] = await world.outbox('dlq');
      expect(letter?.headers).toMatchObject({ 'ld-attempts': '3', 'ld-origin-topic': 'main', 'ld-error-class': 'attempts_exhausted' });
    });

    it('never of throttling, which uses up no attempt', async () => {
      failing({ kind: 'throttled', code: 'http_429' }, 6);
      const event = one();
      world.start({ tiers: true, attempts: 2 }).take([received(event)]);
      await until('it is delivered', async () => (await world.stateOf(event)) === 'delivered');
      expect(world.crm.requests).toHaveLength(7);
      expect(await world.operationsOf(event)).toMatchObject([{ attempts: 1 }]);
    });

    it('not before its deadline where its next attempt would come after it', async () => {
      always({ kind: 'throttled', code: 'http_429', afterMs: 60_000 });
      const event = one(30_000);
      const record = received(event);
      world.start().take([record]);
      await world.settled([record]);
      const { state, due_ms } = await rowOf(event);
      expect(state).toBe('waiting');
      expect(due_ms).toBeGreaterThanOrEqual(event.deadlineMs);
      expect(due_ms).toBeLessThan(event.deadlineMs + 20_000);
      expect(await world.outbox('dlq')).toEqual([]);
      expect(await world.announced()).toEqual([]);
    });

    it('as expired without a call where its deadline has passed', async () => {
      const event = one(-1_000);
      const record = received(event);
      world.start().take([record]);
      await world.settled([record]);
      expect(await rowOf(event)).toMatchObject({ state: 'expired', class: 'deadline_exceeded', code: 'deadline' });
      expect(world.crm.requests).toHaveLength(0);
      expect(await world.outbox('dlq')).toHaveLength(1);
    });

    it('and the operation behind the one that died was never made', async () => {
      world.crm.behave = (key, execute) => (key.endsWith('contact') ? invalid : { kind: 'succeeded', ref: execute() });
      const event = one();
      const record = received(event);
      world.start({ kinds: ['contact', 'lead'] }).take([record]);
      await world.settled([record]);
      expect(await world.operationsOf(event)).toMatchObject([{ state: 'dead' }, { state: 'pending', attempts: 0 }]);
    });

    it('no sooner than its deadline cuts the timeout of its call', async () => {
      const record = received(one(10_000));
      world.start({ timeoutMs: 20_000 }).take([record]);
      await world.settled([record]);
      expect(world.crm.requests[0]?.context.timeoutMs).toBeLessThanOrEqual(10_000);
    });
  });

  describe('is uncertain', () => {
    it('where it may have happened and cannot be repeated: due for a lookup when its absence counts, never sent again', async () => {
      world.crm.native = false;
      const [lost, next] = newEvents(2) as [RigEvent, RigEvent];
      world.crm.behave = (key, execute) => {
        const ref = execute();
        return key.startsWith(lost.id) ? timeout : { kind: 'succeeded', ref };
      };
      const { take, paused } = world.start({ timeoutMs: 200 });
      const all = [received(lost), received(next)];
      take(all);
      await world.settled(all);
      expect(await world.states()).toEqual({ delivered: 1, uncertain: 1 });
      const [operation] = await world.db.sql<{ sent_ms: number }>(
        'rig.sent',
        'SELECT (extract(epoch FROM sending_at) * 1000)::float8 AS sent_ms FROM operation WHERE event_id = $1',
        [lost.id],
      );
      const { due_ms } = await rowOf(lost);
      expect((due_ms ?? 0) - (operation?.sent_ms ?? 0)).toBeGreaterThanOrEqual(3_199);
      expect((due_ms ?? 0) - (operation?.sent_ms ?? 0)).toBeLessThan(3_500);
      expect(paused.size).toBe(0);
      const again = received(lost);
      take([again]);
      await world.settled([again]);
      expect(world.crm.of(`${lost.id}:rig:lead`)).toHaveLength(1);
      expect(await wakeHeaders()).toEqual([]);
    });

    it('after its last attempt where a repetition is safe and it can be looked up; dead where it cannot', async () => {
      always(timeout);
      const [found, blind] = newEvents(2) as [RigEvent, RigEvent];
      world.start({ tiers: true, attempts: 2, lookup: true }).take([received(found)]);
      await until('it is uncertain', async () => (await world.stateOf(found)) === 'uncertain');
      world.start({ tiers: true, attempts: 2 }).take([received(blind)]);
      await until('it is dead', async () => (await world.stateOf(blind)) === 'dead');
      expect(world.crm.of(`${found.id}:rig:lead`)).toHaveLength(2);
      expect(world.crm.of(`${blind.id}:rig:lead`)).toHaveLength(2);
      expect(await world.outbox('dlq')).toHaveLength(1);
      expect(await world.announced()).toEqual(['dead']);
    });

    it.each([
      ['can be looked up', true],
      ['cannot be looked up', false],
    ])('at its deadline where an earlier call may have happened and %s', async (_name, lookup) => {
      always(timeout);
      const event = one(900);
      world.start({ tiers: true, attempts: 100, lookup, backoff: { baseMs: 200, capMs: 200 } }).take([received(event)]);
      await until('it is uncertain', async () => (await world.stateOf(event)) === 'uncertain');
      expect(await world.outbox('dlq')).toHaveLength(0);
      expect(await world.announced()).toEqual([]);
    });

    it('where a call is refused for good after one that may have happened, and can be looked up: the refusal is kept for then', async () => {
      const gone: Outcome = { kind: 'permanent', class: 'permanent', code: 'http_404', status: 404 };
      world.crm.behave = (_key, execute, count) => {
        if (count > 1) return gone;
        execute();
        return timeout;
      };
      const [found, blind] = newEvents(2) as [RigEvent, RigEvent];
      world.start({ tiers: true, lookup: true }).take([received(found)]);
      await until('it is uncertain', async () => (await world.stateOf(found)) === 'uncertain');
      expect(await rowOf(found)).toMatchObject({ class: null, code: 'http_404' });
      expect(await world.operationsOf(found)).toMatchObject([{ state: 'uncertain', attempts: 2, class: 'permanent', code: 'http_404' }]);
      expect(await world.outbox('dlq')).toHaveLength(0);
      world.start({ tiers: true }).take([received(blind)]);
      await until('it is dead', async () => (await world.stateOf(blind)) === 'dead');
      expect(await world.announced()).toEqual(['dead']);
    });

    it('where a connector throws', async () => {
      world.crm.native = false;
      world.crm.behave = () => {
        throw new Error('bug');
      };
      const record = received(one());
      world.start().take([record]);
      await world.settled([record]);
      expect(await world.attempts()).toMatchObject([{ outcome: 'uncertain', code: 'connector_threw' }]);
    });
  });

  it('keeps what succeeded: only the missing operation is repeated, and what the destination has already is a success', async () => {
    const event = one();
    world.crm.behave = (key, execute, count) => {
      if (key.endsWith('contact')) return { kind: 'duplicate', ref: 'C-7', status: 409 };
      return count === 1 ? timeout : { kind: 'succeeded', ref: execute() };
    };
    world.start({ kinds: ['contact', 'lead'], tiers: true }).take([received(event)]);
    await until('it is delivered', async () => (await world.stateOf(event)) === 'delivered');
    expect(world.crm.requests.map(({ key }) => key.split(':').at(-1))).toEqual(['contact', 'lead', 'lead']);
    expect(world.crm.requests[2]?.context.refs).toEqual({ contact: 'C-7' });
    expect(await world.operationsOf(event)).toMatchObject([{ destination_ref: 'C-7' }, { destination_ref: 'R-1' }]);
  });

  describe('that its target does not take as things are', () => {
    const refusedWith = { class: 'invalid', code: 'no_consent' };

    it('is dead with one dead letter, announced and never called, however often its record comes', async () => {
      const event = { ...one(), refused: true };
      const { take } = world.start({ kinds: ['contact', 'lead'] });
      for (let n = 0; n < 3; n++) {
        const record = received(event);
        take([record]);
        await world.settled([record]);
      }
      expect(await rowOf(event)).toMatchObject({ state: 'dead', ...refusedWith, due_ms: null });
      expect(await world.operationsOf(event)).toMatchObject([
        { state: 'dead', ...refusedWith, attempts: 0 },
        { state: 'dead', ...refusedWith, attempts: 0 },
      ]);
      expect((await world.outbox('dlq')).map(({ headers }) => [headers['ld-error-class'], headers['ld-error-code']])).toEqual([
        ['invalid', 'no_consent'],
      ]);
      expect(await world.announced()).toEqual(['dead']);
      expect(world.crm.requests).toHaveLength(0);
    });

    it('is looked up first where an earlier call may have been executed', async () => {
      always({ kind: 'transient', code: 'http_503', status: 503, provablyNotExecuted: false });
      const event = one();
      const first = received(event);
      const { take } = world.start({ lookup: true });
      take([first]);
      await world.settled([first]);
      await until('it is due', async () => {
        const { due_ms, now_ms } = await rowOf(event);
        return (due_ms ?? 0) <= now_ms;
      });
      const again = received({ ...event, refused: true }, { topic: 'main.rig.retry.15s' });
      take([again]);
      await world.settled([again]);
      expect(await rowOf(event)).toMatchObject({ state: 'uncertain', class: null });
      expect(await world.operationsOf(event)).toMatchObject([{ state: 'uncertain', ...refusedWith, attempts: 1 }]);
      expect(await world.outbox('dlq')).toHaveLength(0);
      expect(world.crm.requests).toHaveLength(1);
    });
  });

  describe('behind another lead of its person', () => {
    const contacts = () => {
      const taken: ContactWrite[] = [];
      const settled: { operationKey: string; notSentUnder?: string }[] = [];
      let busy = 1;
      const double: Contacts = {
        acquire: (write) => {
          taken.push(write);
          const holdId = `hold-${taken.length}`;
          return Promise.resolve(busy-- > 0 ? { kind: 'busy', waitMs: 30 } : { kind: 'ours', holdId, ref: 'C-1', newer: ['email'] });
        },
        settle: ({ operationKey }, options) => void settled.push({ operationKey, notSentUnder: options?.notSentUnder }),
        stop: () => undefined,
      };
      return { double, taken, settled };
    };

    it('waits without an attempt, and is told what is known of the contact when it is its turn', async () => {
      const { double, taken, settled } = contacts();
      const event = { ...one(), person: 'hash' };
      world.start({ kinds: ['contact', 'lead'], contacts: double, tiers: true }).take([received(event)]);
      await until('it is delivered', async () => (await world.stateOf(event)) === 'delivered');
      const key = `${event.id}:rig:contact`;
      expect(taken).toHaveLength(2);
      expect(taken[0]).toMatchObject({
        eventId: event.id,
        destination: 'rig',
        operationKey: key,
        personKey: 'hash',
        fields: ['name', 'email'],
      });
      expect(world.crm.requests[0]?.context.contact).toEqual({ ref: 'C-1', newer: ['email'] });
      expect(world.crm.requests[1]?.context.contact).toBeUndefined();
      expect(await world.operationsOf(event)).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
      expect(settled).toEqual([{ operationKey: key, notSentUnder: undefined }]);
    });

    it.each<[string, Outcome, string | undefined]>([
      ['that was provably not written', refused, 'hold-2'],
      ['that may have been written', timeout, undefined],
    ])('says of a contact %s whether its turn is over', async (_name, outcome, notSentUnder) => {
      const { double, settled } = contacts();
      await double.acquire({} as ContactWrite);
      always(outcome);
      const record = received({ ...one(), person: 'hash' });
      world.start({ kinds: ['contact'], contacts: double }).take([record]);
      await world.settled([record]);
      expect(settled).toMatchObject([{ notSentUnder }]);
    });
  });
});
