import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import requestModule from 'kafkajs/src/protocol/requests/index.js';
import { encodeProducesInOneGo } from './produce-encoding.js';
import type { BatchedMessage } from './record-batch.js';

const { Produce } = requestModule.requests;
const theirs = Produce?.protocol;

interface Args {
  messages: BatchedMessage[];
  version?: number;
  more?: object;
}

async function bytesOf({ messages, version = 7, more }: Args): Promise<Buffer> {
  const topicData = [
    { topic: 'leads', partitions: [{ partition: 3, messages }] },
    { topic: 'läuft', partitions: [1, 2].map((partition) => ({ partition, messages })) },
  ];
  const args = { acks: -1, timeout: 10_000, compression: 0, producerId: -1, producerEpoch: 0, topicData, ...more };
  const { request } = Produce?.protocol({ version })(args) ?? {};
  return (await request?.encode())?.buffer ?? Buffer.alloc(0);
}

async function both(args: Args): Promise<[ours: Buffer, theirs: Buffer]> {
  encodeProducesInOneGo();
  const ours = await bytesOf(args);
  if (Produce && theirs) Produce.protocol = theirs;
  return [ours, await bytesOf(args)];
}

const someBytes = fc.uint8Array({ maxLength: 200 }).map((one) => Buffer.from(one));
const bytes = fc.option(someBytes);
const text = fc.string({ unit: 'binary', maxLength: 80 });
const headers = fc.dictionary(text, fc.oneof(text, someBytes, fc.array(text, { maxLength: 3 })), { maxKeys: 4, noNullPrototype: true });
const message = fc.record({ key: fc.oneof(bytes, text), value: fc.oneof(bytes, text), headers }, { requiredKeys: ['key', 'value'] });

describe('the produce request of kafkajs', () => {
  beforeEach(() => {
    jest.useFakeTimers({ now: Date.UTC(2026, 0, 1), doNotFake: ['nextTick', 'setImmediate'] });
  });
  afterEach(() => {
    jest.useRealTimers();
    if (Produce && theirs) Produce.protocol = theirs;
  });

  it('has the same bytes when it is written in one go', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 20 }), fc.constantFrom(3, 5, 7), async (messages, version) => {
        const [ours, kafkajs] = await both({ messages, version });
        expect(ours.equals(kafkajs)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('has the same bytes where lengths and offsets need more of them', async () => {
    const sizes = [0, 63, 64, 8_191, 8_192];
    const large: BatchedMessage[] = sizes.map((size) => ({
      key: Buffer.alloc(size, 'k'),
      value: 'ü'.repeat(size),
      headers: { at: 'x'.repeat(size) },
    }));
    large.push({ key: null, value: Buffer.alloc(1_048_576, 'v') });
    const many = Array.from({ length: 9_000 }, () => ({ key: null, value: 'v' }));
    for (const messages of [large, many]) {
      const [ours, kafkajs] = await both({ messages });
      expect(ours.equals(kafkajs)).toBe(true);
    }
  });

  it.each([
    ['times of the caller', { messages: [{ key: null, value: 'v', timestamp: '1000' }] }],
    ['a sequence', { messages: [{ key: null, value: 'v' }], more: { producerId: 7, producerEpoch: 2 } }],
    ['a transaction', { messages: [{ key: null, value: 'v' }], more: { transactionalId: 't' } }],
    ['compression', { messages: [{ key: null, value: 'v' }], more: { compression: 1 } }],
    ['messages instead of batches', { messages: [{ key: 'k', value: 'v' }], version: 2 }],
  ])('stays with kafkajs where it has %s', async (_name, args: Args) => {
    const [ours, kafkajs] = await both(args);
    expect(ours.length).toBeGreaterThan(0);
    expect(ours.equals(kafkajs)).toBe(true);
  });
});
