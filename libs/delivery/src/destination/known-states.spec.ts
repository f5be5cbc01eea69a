import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLogger, metricsText } from '#runtime';
import { type KnownStates, knownStates } from './known-states.js';
import { SharedControl } from './shared-control.js';
import { MemoryRow, MemoryStore } from './spec/memory-store.js';

const logger = createLogger('spec', 'silent');
const policy = {
  concurrency: 10,
  breaker: { window: 20, minimum: 5, ratio: 0.9, coolDownMs: 15_000, longestCoolDownMs: 60_000 },
  retryBudget: 0.2,
  backoff: { baseMs: 15_000, capMs: 300_000 },
};

let row: MemoryRow;
let control: SharedControl;
let known: KnownStates;

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
const sample = async () => /^leads_destination_state_unknown\{destination="crm"\} (\d)$/m.exec(await metricsText())?.[1];

beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
  row = new MemoryRow();
  control = new SharedControl({
    ...{ store: new MemoryStore(row), destination: 'crm', policy, logger },
    ...{ instanceId: 'process', random: () => 0 },
  });
  known = knownStates(new Map([['crm', control]]));
  const begun = control.start();
  await pass(10);
  await begun;
});
afterEach(async () => {
  known.stop();
  const stopped = control.stop();
  await pass(100);
  await stopped;
  jest.useRealTimers();
});

describe('a process whose destination cannot be read about', () => {
  it('is not ready and shows it in a metric after five seconds, until it can again', async () => {
    expect([await known.readiness.check(), await sample()]).toEqual([{ ok: true }, '0']);
    row.away = true;
    await pass(4_000);
    expect([await known.readiness.check(), await sample()]).toEqual([{ ok: true }, '0']);
    await pass(2_500);
    expect(control.mode).toBe('blocked');
    expect([await known.readiness.check(), await sample()]).toEqual([{ ok: false, detail: expect.stringContaining('crm') }, '1']);
    row.away = false;
    await pass(1_500);
    expect([await known.readiness.check(), await sample()]).toEqual([{ ok: true }, '0']);
  });

  it('is ready while the destination itself is what stands in the way', async () => {
    for (let n = 0; n < 2; n++) {
      control.admit({ operationKey: `${n}:crm:lead`, retry: false });
      control.report({ operationKey: `${n}:crm:lead`, outcome: { kind: 'transient', code: 'connect_refused', provablyNotExecuted: true } });
    }
    await pass(1_500);
    expect(control.mode).toBe('blocked');
    expect([await known.readiness.check(), await sample()]).toEqual([{ ok: true }, '0']);
  });
});
