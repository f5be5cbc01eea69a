import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type RetryTier, retryTierMs } from '#contracts';
import { createLogger } from '#runtime';
import { testInfra, testSize } from '#testkit';
import { measureTier, percentiles } from '../../../../test/support/tier-lateness.js';
import { createKafka } from '../kafka/create-kafka.js';
import type { KafkaPort } from '../kafka/ports.js';

/** Tiers of their real length; due times are random over it and lie in no order. */
const long = testSize() === 'long';
const records = long ? 5_000 : 1_000;
const tiers: readonly RetryTier[] = long ? ['15s', '1m'] : ['15s'];
let kafka: KafkaPort;

beforeAll(() => {
  kafka = createKafka({ brokers: testInfra().kafkaBrokers.split(','), clientId: 'lateness', logger: createLogger('lateness', 'silent') });
});
afterAll(() => kafka.close());

it.each(tiers)(
  `hands ${records} records of the tier %s on, each once and none before its time`,
  async (tier) => {
    const { early, again, latenessMs } = await measureTier({ kafka, records, tier });
    console.log(`${records} records over ${retryTierMs[tier] / 1_000} s: ${percentiles(latenessMs)} late`);
    expect({ early, again, handedOut: latenessMs.length }).toEqual({ early: 0, again: 0, handedOut: records });
  },
  720_000,
);

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
