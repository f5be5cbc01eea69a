import { describe, expect, it } from '@jest/globals';
import type { EventDescriptor } from '#contracts';
import { createLogger } from '#runtime';
import { eventually } from '#testkit';
import { DecodeError, RegistryUnavailable } from '../codec/errors.js';
import { KafkaRecord } from '../consumer/kafka-record.js';
import type { Receipt } from '../consumer/record.js';
import { Reader, type ReaderOptions } from './reader.js';
import type { Received } from './received.js';

const event: EventDescriptor<string> = { name: 'e', topic: 't', subject: 't-value', schemaVersion: 1, schema: '"string"' };
const logger = createLogger('reader-spec', 'silent');

class TestReceipt implements Receipt {
  stale = false;
  constructor(readonly record: KafkaRecord) {}
  settle(): void {}
  redeliverIn(): void {}
}

let offset = 0;
function receipt(value: string | null, partition = 0, traceparent?: string): TestReceipt {
  offset += 1;
  const headers = traceparent === undefined ? {} : { traceparent: Buffer.from(traceparent) };
  const fetched = { offset: String(offset), key: null, value: value === null ? null : Buffer.from(value), timestamp: '0', headers };
  return new TestReceipt(new KafkaRecord('t', partition, fetched));
}

/** Decodes text; what begins with `unknown` depends on the registry. */
function fixture(extra: Pick<ReaderOptions<string>, 'wants'> = {}) {
  const state = {
    registry: 'up' as 'up' | 'down' | 'slow' | 'broken',
    asked: 0,
    paused: new Set<string>(),
    failures: [] as unknown[],
    onResume: () => {},
  };
  const got: Received<string>[] = [];
  const reader = new Reader<string>({
    event,
    logger,
    firstPauseMs: 2,
    ...extra,
    codec: {
      decode: <E>(_event: EventDescriptor<E>, bytes: Buffer | null): E | Promise<E> => {
        const text = bytes?.toString();
        if (text === undefined) throw new DecodeError('tombstone', 'e: the record has no value');
        if (text === 'garbage') throw new DecodeError('not_avro', 'e: 7 bytes are too few');
        if (!text.startsWith('unknown')) return text as E;
        state.asked += 1;
        if (state.registry === 'down') throw new RegistryUnavailable('no answer');
        if (state.registry === 'broken') return Promise.reject(new TypeError('a bug'));
        return new Promise((resolve) => setTimeout(() => resolve(text as E), 10));
      },
    },
    consumer: {
      group: 'g',
      pause: (reason, where = []) => {
        for (const place of where) state.paused.add(`${reason} ${JSON.stringify(place)}`);
      },
      resume: (reason, where = []) => {
        for (const place of where) state.paused.delete(`${reason} ${JSON.stringify(place)}`);
        state.onResume();
      },
      fail: (error) => void state.failures.push(error),
    },
    onReceived: (received) => void got.push(...received),
  });
  const events = () => got.map(({ result }) => (result.ok ? result.event : result.reason));
  return { reader, state, got, events };
}

describe('Reader', () => {
  it('reads known schemas at once and gives a reason for what carries no event, without stopping for it', () => {
    const { reader, events } = fixture();
    reader.take([receipt('a'), receipt(null), receipt('garbage'), receipt('b')]);
    expect(events()).toEqual(['a', 'tombstone', 'not_avro', 'b']);
  });

  it('keeps the order of a partition behind a record whose schema must be asked for, while others go on', async () => {
    const { reader, state, events } = fixture();
    reader.take([receipt('a'), receipt('unknown'), receipt('c'), receipt('other partition', 1)]);
    expect(events()).toEqual(['a', 'other partition']);
    expect([...state.paused]).toEqual(['registry {"topic":"t","partition":0}']);
    reader.take([receipt('d'), receipt('unknown again')]);
    await eventually('all of them', () => events().length === 6);
    expect(events().slice(2)).toEqual(['unknown', 'c', 'd', 'unknown again']);
  });

  it('reads what waited before what the end of the pause lets in', async () => {
    const { reader, state, events } = fixture();
    state.onResume = () => reader.take([receipt('later')]);
    reader.take([receipt('unknown'), receipt('b'), receipt('unknown again'), receipt('c')]);
    await eventually('all of them', () => events().length === 5);
    expect(events()).toEqual(['unknown', 'b', 'unknown again', 'c', 'later']);
    expect(state.paused.size).toBe(0);
  });

  it('pauses the partition while no registry answers and gives up on nothing', async () => {
    const { reader, state, events } = fixture();
    state.registry = 'down';
    reader.take([receipt('unknown'), receipt('b')]);
    await eventually('some tries', () => state.asked > 3);
    expect(events()).toEqual([]);
    expect([...state.paused]).toEqual(['registry {"topic":"t","partition":0}']);
    state.registry = 'up';
    await eventually('both', () => events().length === 2);
    expect(events()).toEqual(['unknown', 'b']);
    expect(state.paused.size).toBe(0);
  });

  it('drops what waited under an assignment that is over, and reads the new one in its own order', async () => {
    const { reader, state, events } = fixture();
    state.registry = 'down';
    const [first, second] = [receipt('unknown'), receipt('b')];
    reader.take([first, second]);
    await eventually('a try', () => state.asked > 0);
    first.stale = true;
    second.stale = true;
    state.registry = 'up';
    reader.take([receipt('unknown'), receipt('b')]);
    await eventually('both, once', () => events().length === 2);
    await eventually('no pause', () => state.paused.size === 0);
    expect(events()).toEqual(['unknown', 'b']);
  });

  it('lets go of the pause when the assignment ends while it waits', async () => {
    const { reader, state } = fixture();
    state.registry = 'down';
    const first = receipt('unknown');
    reader.take([first]);
    await eventually('a pause', () => state.paused.size === 1);
    first.stale = true;
    await eventually('no pause', () => state.paused.size === 0);
  });

  it('takes an error that is no verdict for a fault of ours', async () => {
    const { reader, state, events } = fixture();
    state.registry = 'broken';
    reader.take([receipt('unknown')]);
    await eventually('a failure', () => state.failures.length === 1);
    expect(events()).toEqual([]);
  });

  it('settles what is not wanted without decoding it', () => {
    const settled: string[] = [];
    const { got, reader } = fixture({ wants: ({ value }) => value?.toString() !== 'garbage' });
    const unwanted = receipt('garbage');
    unwanted.settle = () => void settled.push('garbage');
    reader.take([receipt('a'), unwanted, receipt('b')]);
    expect(settled).toEqual(['garbage']);
    expect(got).toHaveLength(2);
  });

  it("gives each record its own producer's trace, and none for a malformed one", () => {
    const { reader, got } = fixture();
    const [one, two] = [
      '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      '00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    ];
    reader.take([receipt('a', 0, one), receipt('b', 0, two), receipt('c', 0, 'x,y'), receipt('d')]);
    expect(got.map(({ trace }) => trace?.traceId)).toEqual([one.slice(3, 35), two.slice(3, 35), undefined, undefined]);
  });
});
