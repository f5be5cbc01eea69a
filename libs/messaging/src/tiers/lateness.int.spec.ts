import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '#runtime';
import { testInfra, testSize } from '#testkit';
import { measureTier, percentiles } from '../../../../test/support/tier-lateness.js';
import { createKafka } from '../kafka/create-kafka.js';
import type { KafkaPort } from '../kafka/ports.js';

/** The real length of the smallest tier; due times are random over it and lie in no order. */
const records = testSize() === 'long' ? 5_000 : 1_000;
let kafka: KafkaPort;

beforeAll(() => {
  kafka = createKafka({ brokers: testInfra().kafkaBrokers.split(','), clientId: 'lateness', logger: createLogger('lateness', 'silent') });
});
afterAll(() => kafka.close());

it(`hands ${records} records of the 15 s tier on, each once and none before its time`, async () => {
  const { early, again, latenessMs } = await measureTier({ kafka, records });
  console.log(`${records} records over 15 s: ${percentiles(latenessMs)} late`);
  expect({ early, again, handedOut: latenessMs.length }).toEqual({ early: 0, again: 0, handedOut: records });
}, 240_000);

it('hands every record on in the end, each once and none before its time, when ten times as many wait as memory may hold', async () => {
  const { early, again, latenessMs } = await measureTier({
    kafka,
    records,
    maxHeld: records / 10,
    spanMs: 5_000,
    // One fetch brings a tenth of them.
    valueBytes: 10_000,
    batch: 20,
  });
  console.log(`${records} records over 5 s with ${records / 10} in memory: ${percentiles(latenessMs)} late`);
  expect({ early, again, handedOut: latenessMs.length }).toEqual({ early: 0, again: 0, handedOut: records });
}, 240_000);
