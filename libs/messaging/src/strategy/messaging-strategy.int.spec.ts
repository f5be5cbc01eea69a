import 'reflect-metadata';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Controller, type INestApplication, Module, type Type, UseFilters } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Ctx, EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { delay, map, of, throwError } from 'rxjs';
import type { EventDescriptor } from '#contracts';
import { createLogger } from '#runtime';
import { eventually, testInfra, uniqueName } from '#testkit';
import { createKafka } from '../kafka/create-kafka.js';
import type { AdminPort, KafkaPort, ProducerPort } from '../kafka/ports.js';
import { MessagingStrategy, type MessagingStrategyOptions } from './messaging-strategy.js';
import { OriginalErrors } from './original-errors.js';
import type { Received, ReceivedContext } from './received.js';

const event: EventDescriptor<string> = { name: 'e', topic: 'e', subject: 'e-value', schemaVersion: 1, schema: '"string"' };
const codec = { decode: <E>(_event: EventDescriptor<E>, bytes: Buffer | null): E => String(bytes) as E };
jest.setTimeout(90_000);

const logger = createLogger('messaging-strategy-spec', 'silent');

let kafka: KafkaPort;
let admin: AdminPort;
let producer: ProducerPort;
const apps: INestApplication[] = [];

beforeAll(async () => {
  kafka = createKafka({ brokers: testInfra().kafkaBrokers.split(','), clientId: 'strategy-spec', logger });
  admin = await kafka.admin();
  producer = await kafka.producer();
});
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});
afterAll(() => kafka.close());

async function topicWith(values: string[]): Promise<{ topic: string; group: string }> {
  const [topic, group] = [uniqueName('strategy'), uniqueName('g')];
  await admin.createTopics([{ topic, partitions: 1, replication: 1 }]);
  await producer.send(values.map((value) => ({ topic, key: null, value: Buffer.from(value) })));
  return { topic, group };
}

type Handle = (received: Received<string>[], context: ReceivedContext) => unknown;

/** An application with one ordinary controller. */
async function start(
  handle: Handle,
  options: Pick<MessagingStrategyOptions, 'subscriptions'>,
  more: Type[] = [],
): Promise<MessagingStrategy> {
  @Controller()
  @UseFilters(OriginalErrors)
  class EventsController {
    @EventPattern<string>('e')
    onEvents(@Payload() received: Received<string>[], @Ctx() context: ReceivedContext): unknown {
      return handle(received, context);
    }
  }
  @Module({ controllers: [EventsController, ...more] })
  class AppModule {}

  const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: false });
  apps.push(app);
  const strategy = new MessagingStrategy({ kafka, codec, sessionTimeoutMs: 30_000, commitEveryMs: 20, stopGraceMs: 0, logger, ...options });
  app.connectMicroservice({ strategy });
  await app.startAllMicroservices();
  return strategy;
}

const committed = async (group: string, topic: string): Promise<bigint | undefined> =>
  (await admin.groupOffsets(group, [topic]))[0]?.offset;
const settleAll = (received: Received<string>[]): void => {
  for (const { receipt } of received) receipt.settle();
};

describe('messaging strategy', () => {
  it('hands decoded batches with receipts to an ordinary handler, once per group', async () => {
    const { topic, group } = await topicWith(['a', 'b', 'c']);
    const second = uniqueName('g');
    const got: string[] = [];
    const strategy = await start(
      (received, context) => {
        got.push(...received.map(({ result }) => `${context.group} ${result.ok ? result.event : result.reason}`));
        settleAll(received);
      },
      { subscriptions: [group, second].map((name) => ({ group: name, pattern: 'e', topics: [topic], event })) },
    );
    await eventually('both groups', () => got.length === 6);
    expect([...got].sort()).toEqual([group, second].flatMap((name) => ['a', 'b', 'c'].map((value) => `${name} ${value}`)).sort());
    await eventually('the commits', async () => (await committed(group, topic)) === 3n && (await committed(second, topic)) === 3n);
    expect(strategy.readiness.map(({ name }) => name)).toEqual([`consumer ${group}`, `consumer ${second}`]);
    expect(() => strategy.consumer('no such group')).toThrow('No subscription');
  });

  it.each<[string, () => unknown]>([
    [
      'a thrown error',
      () => {
        throw new Error('thrown');
      },
    ],
    ['an Observable that fails with something that is no error', () => throwError(() => null)],
    ['a rejected promise', () => Promise.reject(new Error('rejected'))],
    [
      'an Observable that fails later',
      () =>
        of(1).pipe(
          delay(50),
          map(() => {
            throw new Error('failed late');
          }),
        ),
    ],
    ['an Observable that fails at once', () => throwError(() => new Error('failed'))],
  ])('commits nothing after %s and hands the records out again', async (_name, fail) => {
    const { topic, group } = await topicWith(['a']);
    let calls = 0;
    await start(
      (received) => {
        calls += 1;
        if (calls === 1) return fail();
        expect(calls === 2 || received.length === 1).toBe(true);
        return settleAll(received);
      },
      { subscriptions: [{ group, pattern: 'e', topics: [topic], event }] },
    );
    await eventually('a second try', () => calls === 2);
    await eventually('the commit', async () => (await committed(group, topic)) === 1n);
  });

  it('keeps the original error of a handler for its log', async () => {
    const { topic, group } = await topicWith(['a']);
    const original = Object.assign(new Error('the original'), { status: 429 });
    const errors: unknown[] = [];
    const loud = { ...logger, error: (...line: unknown[]) => void errors.push((line[0] as { err?: unknown }).err) };
    let calls = 0;
    await start(
      (received) => {
        calls += 1;
        if (calls === 1) throw original;
        settleAll(received);
      },
      { subscriptions: [{ group, pattern: 'e', topics: [topic], event }], ...{ logger: loud } },
    );
    await eventually('the log line', () => errors.length > 0);
    expect(errors[0]).toBe(original);
    await eventually('a second try', () => calls === 2);
  });

  it('refuses to start when handlers and subscriptions do not fit, naming each problem', async () => {
    const { topic, group } = await topicWith([]);
    const one = { group, pattern: 'e', topics: [topic], event };
    await expect(start(() => undefined, { subscriptions: [one, { ...one, group: 'other', pattern: 'typo' }] })).rejects.toThrow(
      "no @EventPattern('typo') handler for the group other",
    );
    await expect(start(() => undefined, { subscriptions: [] })).rejects.toThrow("'e' has no subscription");
    await expect(start(() => undefined, { subscriptions: [one, one] })).rejects.toThrow('subscribed twice');
    @Controller()
    class Second {
      @EventPattern<string>('e')
      again(): void {}
    }
    await expect(start(() => undefined, { subscriptions: [one] }, [Second])).rejects.toThrow('more than one handler');
    @Controller()
    class Asker {
      @MessagePattern('question')
      answer(): void {}
    }
    const asked = { ...one, group: 'asked', pattern: 'question' };
    await expect(start(() => undefined, { subscriptions: [one, asked] }, [Asker])).rejects.toThrow('request handler');
  });
});
