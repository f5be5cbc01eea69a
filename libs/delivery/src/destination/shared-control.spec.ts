import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '#runtime';
import type { Outcome } from '../outcome.js';
import { bearingOf } from './bearing.js';
import type { DestinationPolicy, Mode } from './control.js';
import { SharedControl } from './shared-control.js';
import { initialState } from './shared-state.js';
import { MemoryRow, MemoryStore } from './spec/memory-store.js';
import { transition } from './transitions.js';

const policy: DestinationPolicy = {
  concurrency: 10,
  breaker: { window: 20, minimum: 5, ratio: 0.9, coolDownMs: 15_000, longestCoolDownMs: 60_000 },
  retryBudget: 0.2,
  backoff: { baseMs: 15_000, capMs: 300_000 },
};
const logger = createLogger('spec', 'silent');
const ok: Outcome = { kind: 'succeeded', ref: 'r', status: 200 };
const refused: Outcome = { kind: 'transient', code: 'connect_refused', provablyNotExecuted: true };
const unavailable: Outcome = { kind: 'uncertain', code: 'http_503', status: 503 };
const invalid: Outcome = { kind: 'permanent', class: 'permanent', code: 'http_422', status: 422 };
const throttledFor = (afterMs?: number): Outcome => ({ kind: 'throttled', code: 'http_429', status: 429, afterMs });
const unauthorized = (status = 401): Extract<Outcome, { kind: 'auth' }> => ({ kind: 'auth', code: `http_${status}`, status });

let row: MemoryRow;
const started: SharedControl[] = [];

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
  row = new MemoryRow();
});
afterEach(async () => {
  const stopped = Promise.all(started.splice(0).map((control) => control.stop()));
  await pass(100);
  await stopped;
  jest.useRealTimers();
});

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

/** The parts of a process that a spec plays with. */
interface Process {
  control: SharedControl;
  store: MemoryStore;
  modes: Mode[];
}

async function startProcess(
  more: { policy?: Partial<DestinationPolicy>; check?: () => Promise<{ ok: boolean }>; random?: () => number } = {},
): Promise<Process> {
  const store = new MemoryStore(row);
  const control = new SharedControl({
    store,
    destination: 'crm',
    policy: { ...policy, ...more.policy },
    check: more.check,
    logger,
    instanceId: `process-${started.length}`,
    random: more.random ?? (() => 0),
  });
  const modes: Mode[] = [];
  control.onMode((mode) => modes.push(mode));
  const begun = control.start();
  started.push(control);
  await pass(10);
  await begun;
  return { control, store, modes };
}

let leads = 0;
const newLead = () => `0000-${leads++}:crm:lead`;

/** One whole call. */
function call({ control }: Process, outcome: Outcome, operationKey = newLead()): string {
  const admission = control.admit({ operationKey, retry: false });
  if (admission.kind === 'go') control.report({ operationKey, outcome });
  return admission.kind;
}

const failUntilBlocked = (process: Process) => {
  for (let n = 0; n < 2; n++) call(process, refused);
  expect(process.control.mode).toBe('blocked');
};

describe('the control of a destination', () => {
  it('sends nothing before it has read the row, everything after', async () => {
    const control = new SharedControl({
      store: new MemoryStore(row),
      destination: 'crm',
      policy,
      logger,
      instanceId: 'x',
      random: () => 0,
    });
    started.push(control);
    const begun = control.start();
    expect([control.mode, control.limit(), control.admit({ operationKey: 'a:crm:lead', retry: false }).kind]).toEqual([
      'blocked',
      0,
      'blocked',
    ]);
    await pass(10);
    await begun;
    expect([control.mode, control.limit(), control.reason]).toEqual(['flowing', 10, undefined]);
  });

  it('stops here at once and there with the notification when calls fail', async () => {
    const [one, two] = [await startProcess(), await startProcess()];
    failUntilBlocked(one);
    expect(one.control.reason).toBe('failing');
    expect(two.control.mode).toBe('flowing');
    await pass(10);
    expect([two.control.mode, two.control.reason]).toEqual(['blocked', 'failing']);
  });

  it('finds out within a second where notifications are lost', async () => {
    const [one, two] = [await startProcess(), await startProcess()];
    two.store.notified = false;
    failUntilBlocked(one);
    await pass(1_010);
    expect(two.control.mode).toBe('blocked');
  });

  it('sends nothing once what it knows is older than five seconds', async () => {
    const { control, modes } = await startProcess();
    row.away = true;
    await pass(3_900);
    expect(control.mode).toBe('flowing');
    await pass(1_200);
    expect([control.mode, control.reason, control.limit()]).toEqual(['blocked', undefined, 0]);
    expect(modes.at(-1)).toBe('blocked');
    row.away = false;
    await pass(1_100);
    expect(control.mode).toBe('flowing');
  });

  it('stays blocked when the others cannot be told, and tells them later', async () => {
    const one = await startProcess();
    row.away = true;
    failUntilBlocked(one);
    await pass(3_000);
    expect([one.control.mode, one.control.reason]).toEqual(['blocked', 'failing']);
    row.away = false;
    await pass(1_100);
    expect(row.state.block?.reason).toBe('failing');
  });

  it('probes with one lead, then with another, then ramps', async () => {
    const one = await startProcess();
    failUntilBlocked(one);
    await pass(14_900);
    expect(one.control.mode).toBe('blocked');
    await pass(200);
    expect([one.control.mode, one.control.limit(), one.control.reason]).toEqual(['probing', 1, 'failing']);
    const first = newLead();
    expect(one.control.admit({ operationKey: first, retry: true })).toEqual({ kind: 'go' });
    expect(one.control.admit({ operationKey: newLead(), retry: true }).kind).toBe('blocked');
    expect([one.control.mode, one.control.limit()]).toEqual(['blocked', 0]);
    one.control.report({ operationKey: first, outcome: ok });
    await pass(20);
    expect(one.control.mode).toBe('probing');
    expect(one.control.admit({ operationKey: first.replace('lead', 'contact'), retry: false }).kind).toBe('blocked');
    expect(call(one, ok)).toBe('go');
    await pass(20);
    expect([one.control.mode, one.control.limit()]).toEqual(['ramping', 1]);
    const limits: number[] = [];
    one.control.onMode(() => limits.push(one.control.limit()));
    await pass(5_000);
    expect(limits).toEqual([2, 4, 8, 10]);
    expect(one.modes).toEqual([
      'flowing',
      'blocked',
      'probing',
      'blocked',
      'probing',
      'blocked',
      'ramping',
      'ramping',
      'ramping',
      'ramping',
      'flowing',
    ]);
  });

  it('cools down for longer when the probe fails; the lead that failed is not the next probe', async () => {
    const one = await startProcess();
    failUntilBlocked(one);
    await pass(15_100);
    const first = newLead();
    expect(call(one, refused, first)).toBe('go');
    await pass(20);
    expect(one.control.mode).toBe('blocked');
    await pass(29_800);
    expect(one.control.mode).toBe('blocked');
    await pass(400);
    expect(one.control.mode).toBe('probing');
    expect(call(one, ok, first)).toBe('blocked');
    expect(call(one, ok)).toBe('go');
  });

  it('probes with the same lead again when there is no other', async () => {
    const one = await startProcess();
    failUntilBlocked(one);
    await pass(15_100);
    const only = newLead();
    const admitted: string[] = [];
    one.control.onMode((mode) => {
      if (mode === 'probing') admitted.push(call(one, ok, only));
    });
    call(one, ok, only);
    await pass(10_000);
    expect(admitted.at(-1)).toBe('go');
    expect(one.control.mode).not.toBe('blocked');
  });

  it('leaves an unused turn to another process, again and again', async () => {
    const [idle, busy] = [await startProcess(), await startProcess()];
    failUntilBlocked(idle);
    await pass(15_000);
    const turns: string[] = [];
    for (let n = 0; n < 120; n++) {
      await pass(100);
      if (idle.control.mode === 'probing') turns.push('idle');
      if (busy.control.mode === 'probing') turns.push('busy');
    }
    expect(new Set(turns)).toEqual(new Set(['idle', 'busy']));
    expect(row.state.probes).toBeLessThanOrEqual(1);
  });

  it('gives its place to the next when an admitted probe is not sent', async () => {
    const one = await startProcess();
    failUntilBlocked(one);
    await pass(15_100);
    const gone = newLead();
    one.control.admit({ operationKey: gone, retry: false });
    await pass(5);
    one.control.withdraw(gone);
    expect(one.control.mode).toBe('probing');
    expect(call(one, { kind: 'erased' })).toBe('go');
    await pass(5);
    expect(call(one, ok)).toBe('go');
    await pass(10);
    expect(row.state.answered).toBe(1);
  });

  it('keeps its turn while a probe takes long, and loses it when it dies', async () => {
    const [one, two] = [await startProcess(), await startProcess()];
    failUntilBlocked(one);
    await pass(15_100);
    const [prober, other] = one.control.mode === 'probing' ? [one, two] : [two, one];
    const slow = newLead();
    prober.control.admit({ operationKey: slow, retry: false });
    await pass(25_000);
    expect(other.control.mode).toBe('blocked');
    prober.control.report({ operationKey: slow, outcome: ok });
    await pass(10);
    expect(row.state.answered).toBe(1);
    const lost = newLead();
    prober.control.admit({ operationKey: lost, retry: false });
    await pass(10);
    await Promise.all([prober.control.stop(), pass(50)]);
    await pass(11_500);
    expect(other.control.mode).toBe('probing');
  });

  it('waits out what a destination asked for, and probes with one request then', async () => {
    const [one, two] = [await startProcess(), await startProcess()];
    const inFlight = Array.from({ length: 8 }, newLead);
    for (const operationKey of inFlight) one.control.admit({ operationKey, retry: false });
    for (const operationKey of inFlight) one.control.report({ operationKey, outcome: throttledFor(10_000) });
    await pass(10);
    expect([one.control.reason, two.control.reason]).toEqual(['throttled', 'throttled']);
    const version = row.state.version;
    expect(version).toBe(2);
    let requests = 0;
    for (let n = 0; n < 99; n++) {
      for (const process of [one, two]) if (call(process, ok) === 'go') requests++;
      await pass(100);
    }
    expect(requests).toBe(0);
    await pass(200);
    for (const process of [one, two]) for (let n = 0; n < 5; n++) if (call(process, throttledFor(10_000)) === 'go') requests++;
    expect(requests).toBe(1);
  });

  it('asks the check call whom a 401 speaks of, once for all that ask', async () => {
    let checks = 0;
    let valid = true;
    const check = async () => {
      checks++;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return { ok: valid };
    };
    const one = await startProcess({ check });
    const first = unauthorized();
    const operationKey = newLead();
    one.control.admit({ operationKey, retry: false });
    one.control.report({ operationKey, outcome: first });
    const scope = one.control.authScope(first);
    await pass(60);
    expect(await scope).toBe('lead');
    expect([checks, one.control.mode]).toEqual([1, 'flowing']);
    valid = false;
    const scopes = Promise.all(Array.from({ length: 20 }, () => one.control.authScope(unauthorized())));
    await pass(200);
    expect(new Set(await scopes)).toEqual(new Set(['destination']));
    expect(checks).toBeLessThanOrEqual(3);
    expect([one.control.mode, one.control.reason]).toEqual(['blocked', 'auth']);
    expect(row.state.version).toBe(2);
    const before = checks;
    await pass(15_300);
    expect(checks).toBe(before + 1);
    expect(one.modes).not.toContain('probing');
    valid = true;
    await pass(31_000);
    expect(one.control.mode).toBe('ramping');
  });

  it('takes a 401 for everybody and a 403 for one lead where there is no check call', async () => {
    const one = await startProcess();
    expect(await one.control.authScope(unauthorized(403))).toBe('lead');
    expect(one.control.mode).toBe('flowing');
    expect(await one.control.authScope(unauthorized(401))).toBe('destination');
    expect([one.control.mode, one.control.reason]).toEqual(['blocked', 'auth']);
    await pass(15_100);
    expect(one.control.mode).toBe('probing');
    call(one, unauthorized(401));
    await pass(20);
    expect(row.state).toMatchObject({ coolDowns: 2, block: { reason: 'auth' } });
    await pass(30_100);
    call(one, unauthorized(403));
    await pass(20);
    expect(row.state.answered).toBe(1);
  });

  it('takes a check call that throws or hangs for a failed one', async () => {
    const throwing = await startProcess({ check: () => Promise.reject(new Error('no')) });
    expect(await throwing.control.authScope(unauthorized())).toBe('destination');
    row.state = { ...initialState, version: 99 };
    const hanging = await startProcess({ check: () => new Promise(() => {}) });
    const scope = hanging.control.authScope(unauthorized());
    await pass(15_100);
    expect(await scope).toBe('destination');
  });

  it('never blocks on refusals of single leads', async () => {
    const one = await startProcess();
    for (let n = 0; n < 1_000; n++) expect(call(one, n % 2 === 0 ? invalid : { kind: 'duplicate', ref: 'r' })).toBe('go');
    expect(one.modes).toEqual(['flowing']);
  });

  it('says nothing about now by calls that were made before a pause', async () => {
    const one = await startProcess();
    const old = Array.from({ length: 8 }, newLead);
    for (const operationKey of old) one.control.admit({ operationKey, retry: false });
    row.state = transition(row.state, { kind: 'held', by: 'ada', reason: 'x' }, { nowMs: row.nowMs, policy, random: 0 }) ?? row.state;
    await pass(1_010);
    expect([one.control.mode, one.control.reason]).toEqual(['blocked', 'hold']);
    row.state = transition(row.state, { kind: 'released' }, { nowMs: row.nowMs, policy, random: 0 }) ?? row.state;
    await pass(1_010);
    expect(one.control.mode).toBe('ramping');
    for (const operationKey of old) one.control.report({ operationKey, outcome: refused });
    expect(one.control.mode).toBe('ramping');
    failUntilBlocked(one);
  });

  describe('retries', () => {
    const retry = ({ control }: Process, outcome: Outcome = ok) => {
      const operationKey = newLead();
      const admission = control.admit({ operationKey, retry: true });
      if (admission.kind === 'go') control.report({ operationKey, outcome });
      return admission;
    };
    const halfFail = (one: Process, failure: Outcome) => {
      for (let n = 0; n < 10; n++) expect(call(one, n % 2 ? failure : ok)).toBe('go');
    };

    it('left over from before are not put off by a destination that answers', async () => {
      const one = await startProcess();
      const kinds = Array.from({ length: 200 }, () => retry(one).kind);
      expect(new Set(kinds)).toEqual(new Set(['go']));
    });

    it.each<[string, Outcome]>([
      ['does not answer half of the calls', unavailable],
      ['puts half of the calls off one by one', { kind: 'transient', code: 'http_425', status: 425, provablyNotExecuted: true }],
    ])('are put off by the budget where a destination %s, first attempts never', async (_name, failure) => {
      const one = await startProcess({ random: () => 0.5 });
      halfFail(one, failure);
      const retries = Array.from({ length: 15 }, (_, index) => retry(one, index % 2 ? failure : ok));
      expect(retries.filter(({ kind }) => kind === 'go')).toHaveLength(10);
      expect(retries.at(-1)).toEqual({ kind: 'wait', reason: 'retry_budget', delayMs: 15_000 });
      expect(call(one, ok)).toBe('go');
    });

    it('are free again once a destination is back that was blocked', async () => {
      const one = await startProcess();
      halfFail(one, unavailable);
      for (let n = 0; n < 10; n++) retry(one);
      expect(retry(one).kind).toBe('wait');
      failUntilBlocked(one);
      await pass(15_100);
      for (let probe = 0; probe < 2; probe++) {
        call(one, ok);
        await pass(100);
      }
      expect(one.control.mode).toBe('ramping');
      expect(retry(one).kind).toBe('go');
    });
  });

  it('keeps a quota over all processes and says when there is room again', async () => {
    const quota = { requests: 50, perMs: 10_000 };
    const processes = [await startProcess({ policy: { quota } }), await startProcess({ policy: { quota } })];
    const sentAtMs: number[] = [];
    let asked = 0;
    const pump = ({ control }: Process) => {
      for (; control.limit() > 0; asked++) {
        const operationKey = newLead();
        if (control.admit({ operationKey, retry: false }).kind !== 'go') return;
        sentAtMs.push(performance.now());
        control.report({ operationKey, outcome: ok });
      }
    };
    for (const process of processes) process.control.onMode(() => pump(process));
    for (const process of processes) pump(process);
    for (let n = 0; n < 30; n++) await pass(1_000);
    for (const fromMs of sentAtMs)
      expect(sentAtMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + 10_000).length).toBeLessThanOrEqual(50);
    expect(sentAtMs.length).toBeGreaterThan(120);
    expect(asked - sentAtMs.length).toBe(0);
  });

  it('tells when what an admitted call took from the quota is void, and takes nothing back that would outlive its time', async () => {
    const { control } = await startProcess({ policy: { quota: { requests: 50, perMs: 10_000 } } });
    const admitted = (): string[] => {
      const keys: string[] = [];
      for (let key = newLead(); control.admit({ operationKey: key, retry: false }).kind === 'go'; key = newLead()) keys.push(key);
      return keys;
    };
    control.limit();
    await pass(10);
    const early = admitted();
    expect(early).toHaveLength(5);
    const [first = ''] = early;
    expect(control.isStale(first)).toBe(false);
    await pass(520);
    expect(control.isStale(first)).toBe(true);
    expect(admitted()).toHaveLength(1);
    control.withdraw(first);
    expect(admitted()).toEqual([]);
  });

  it('never calls an admitted call stale where there is no quota', async () => {
    const { control } = await startProcess();
    const operationKey = newLead();
    control.admit({ operationKey, retry: false });
    await pass(60_000);
    expect(control.isStale(operationKey)).toBe(false);
  });
});

/** Small, seeded, good enough: a schedule can be run again. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Probe {
  lead: string;
  /** Names the cool-down it ended. */
  coolDown: string;
  /** From when its cool-down was over. */
  afterMs: number;
}

/** Three processes call a destination that goes down and comes back, over a database that does the same. Gives the probes that were made. */
async function play(random: () => number): Promise<Probe[]> {
  const breaker = { ...policy.breaker, coolDownMs: 5_000, longestCoolDownMs: 20_000 };
  const processes: Process[] = [];
  for (let n = 0; n < 3; n++) processes.push(await startProcess({ random, policy: { breaker } }));
  const waiting = Array.from({ length: 60 }, newLead);
  const open: { process: Process; operationKey: string; dueMs: number }[] = [];
  const probes: Probe[] = [];
  let down = false;
  const answer = (): Outcome => {
    if (down) return random() < 0.5 ? refused : unavailable;
    return random() < 0.5 ? ok : invalid;
  };
  for (let n = 0; n < 2_500; n++) {
    if (random() < 0.004) down = !down;
    if (random() < 0.003) row.away = true;
    else if (random() < 0.05) row.away = false;
    const process = processes[Math.floor(random() * 3)] as Process;
    const index = Math.floor(random() * waiting.length);
    const operationKey = waiting[index] as string;
    const probing = process.control.mode === 'probing';
    const { block, coolDowns } = row.state;
    const free = open.every((one) => one.operationKey !== operationKey);
    if (free && process.control.admit({ operationKey, retry: random() < 0.2 }).kind === 'go') {
      if (probing)
        probes.push({ lead: operationKey, coolDown: `${coolDowns} until ${block?.openAtMs}`, afterMs: row.nowMs - (block?.openAtMs ?? 0) });
      open.push({ process, operationKey, dueMs: performance.now() + random() * 400 });
    }
    await pass(20 + random() * 260);
    for (const one of open.splice(0)) {
      const outcome = answer();
      if (one.dueMs > performance.now()) open.push(one);
      else one.process.control.report({ operationKey: one.operationKey, outcome });
      if (one.dueMs <= performance.now() && bearingOf(outcome) === 'answered') waiting[waiting.indexOf(one.operationKey)] = newLead();
    }
  }
  return probes;
}

describe('three processes on a random schedule', () => {
  const seeds = [1, 2, 3, 4, 5, 6];

  it.each(seeds)('probe with another lead each time, three times in a cool-down at most (seed %i)', async (seed) => {
    const probes = await play(seeded(seed));
    expect(probes.length).toBeGreaterThan(4);
    const again = probes.filter(({ lead }, index) => probes.slice(Math.max(0, index - 31), index).some((earlier) => earlier.lead === lead));
    expect(again.filter(({ afterMs }) => afterMs < 3_900)).toEqual([]);
    const perCoolDown = new Map<string, number>();
    for (const { coolDown } of probes) perCoolDown.set(coolDown, (perCoolDown.get(coolDown) ?? 0) + 1);
    expect(Math.max(...perCoolDown.values())).toBeLessThanOrEqual(3);
  });

  it.each(seeds)('send on through a stream of refused leads (seed %i)', async (seed) => {
    const random = seeded(seed);
    const processes = [await startProcess({ random }), await startProcess({ random }), await startProcess({ random })];
    for (let n = 0; n < 2_000; n++) {
      const process = processes[Math.floor(random() * 3)] as Process;
      const operationKey = newLead();
      expect(process.control.admit({ operationKey, retry: false }).kind).toBe('go');
      if (random() < 0.3) await pass(random() * 200);
      process.control.report({ operationKey, outcome: random() < 0.7 ? invalid : unavailable });
    }
    expect(row.state.version).toBe(1);
  });
});
