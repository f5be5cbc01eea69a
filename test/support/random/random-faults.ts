import { eventually, type InfraPart, identify, pause, type TcpProxy } from '#testkit';
import { CrmWitness } from '../../tour/crm-witness.js';
import { startSecondWriter } from '../second-writer.js';
import type { OpenStack } from '../stack.js';
import type { Seeded } from './seeded.js';

export interface FaultsOptions {
  open: OpenStack;
  door: TcpProxy;
  /** Names of the sandbox's CRMs. */
  crms: readonly string[];
  /** Those of them that are looked into after a write that nobody knows the end of. */
  lookedInto: readonly string[];
  /** Calls that found nobody at the door so far. */
  refused(): Promise<number>;
  /** How a second crm-writer is started beside the stack's own. */
  second: Parameters<typeof startSecondWriter>[1];
  seed: number;
  makeRandom(seed: number): Seeded;
}

type Rule = Record<string, unknown>;
interface Fault {
  name: string;
  /** Does it and heals it; gives how often it was met. */
  run(): Promise<number>;
}

const killed = ['crm-writer', 'intake', 'notifier', 'operator', 'reconciler'];
const parts: InfraPart[] = ['kafka', 'postgres', 'registry'];
/** Those that hold connections of the services open while they stand still. */
const connected: InfraPart[] = ['kafka', 'postgres'];
const backLimitMs = 120_000;
/** Longer than several parts are away one after another, a destination is held after them and its breaker lets the first probe through. */
const longestUnmetMs = 120_000;

/** What a CRM may do to the requests of a while. None of them takes a lead and drops it: that is for the reconciliation to find. */
const crmRules: Record<string, (random: Seeded) => Rule> = {
  'answers 500': () => ({ operation: 'lead', status: 500 }),
  'answers 502 after the commit': () => ({ operation: 'lead', status: 502, dropCommit: false }),
  'answers 503 now and then': () => ({ status: 503, every: 2 }),
  'answers 504 after the commit': () => ({ operation: 'lead', status: 504, dropCommit: false, every: 3 }),
  'answers 429': (random) => ({ operation: 'lead', status: 429, headers: { 'Retry-After': String(random.between(1, 2)) } }),
  'answers 422': (random) => ({ operation: 'lead', status: 422, times: random.between(1, 3) }),
  'answers 400': (random) => ({ operation: 'lead', status: 400, times: random.between(1, 3) }),
  'answers 404': (random) => ({ operation: 'lead', status: 404, times: random.between(1, 3) }),
  'answers 409': (random) => ({ operation: 'lead', status: 409, times: random.between(1, 3) }),
  'answers 403': (random) => ({ operation: 'lead', status: 403, times: random.between(1, 2) }),
  'answers 401': () => ({ operation: 'lead', status: 401 }),
  'answers 200 with an error page': () => ({ operation: 'lead', status: 200, body: '<html>busy</html>', every: 3 }),
  'resets before the commit': () => ({ operation: 'lead', reset: 'before', every: 2 }),
  'resets after the commit': () => ({ operation: 'lead', reset: 'after', every: 2 }),
  'hangs after the commit': () => ({ operation: 'lead', hang: true, every: 2 }),
  'is slow': (random) => ({ latencyMs: random.between(300, 1_500) }),
  'answers too late': (random) => ({ operation: 'lead', latencyMs: random.between(2_100, 3_500), every: 2 }),
};
/** What it may do to lookups, which come only after writes that nobody knows the end of. */
const lookupRules: Record<string, (random: Seeded) => Rule> = {
  'finds late': (random) => ({ operation: 'lead', searchLagMs: random.between(200, 900) }),
  'fails lookups': () => ({ operation: 'lookup', status: 500 }),
  'breaks off lookups': () => ({ operation: 'lookup', reset: 'before', every: 2 }),
};
const doubt: Rule = { operation: 'lead', status: 502, dropCommit: false, times: 4 };
const chatRules: Record<string, (random: Seeded) => Rule> = {
  'answers 500': () => ({ status: 500, every: 2 }),
  'answers 429': () => ({ status: 429, headers: { 'Retry-After': '1' } }),
  'resets before posting': () => ({ reset: 'before', every: 2 }),
  'resets after posting': () => ({ reset: 'after', every: 3 }),
  'is slow': (random) => ({ latencyMs: random.between(300, 1_000) }),
};

/** Resolves when the fault has been met, or after so long that something stands still which should not. */
async function metWithin(isMet: () => boolean | Promise<boolean>): Promise<void> {
  const begunMs = performance.now();
  while (performance.now() - begunMs < longestUnmetMs && !(await isMet())) await pause(100);
  const seconds = Math.round((performance.now() - begunMs) / 1000);
  if (seconds >= 10) console.log(`met by nobody for ${seconds} s`);
}

/** Records that the process with this internal port has fetched. */
async function recordsConsumed(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(2_000) })).text();
  const counts = [...text.matchAll(/^messaging_client_consumed_messages_total(?:\{.*\})? (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Faults at the CRMs, in the network and in the machines, four at a time; each comes up once before any comes up again. */
export class RandomFaults {
  /** Name → how often it was done and how often it was met: requests that came upon it, or processes that it ended or stopped. All that there are. */
  readonly counts = new Map<string, { done: number; hits: number }>();
  private rules = 0;
  private readonly lanes = [this.atCrms, this.inTheChat, this.inTheNetwork, this.inTheMachines];

  constructor(private readonly options: FaultsOptions) {
    const random = options.makeRandom(options.seed);
    for (const lane of this.lanes) for (const { name } of lane.call(this, random)) this.counts.set(name, { done: 0, hits: 0 });
  }

  /** Breaks things until `untilMs` of `performance.now()`; everything is whole again when it returns. */
  async run(untilMs: number): Promise<void> {
    const { seed, makeRandom } = this.options;
    await Promise.all(
      this.lanes.map(async (lane, at) => {
        const random = makeRandom(seed + at + 1);
        while (performance.now() < untilMs) {
          for (const fault of random.shuffled(lane.call(this, random))) {
            if (performance.now() >= untilMs) return;
            await this.meet(fault);
            // Leads must come through at times, else nothing meets the faults.
            await pause(random.between(500, 2_000));
          }
        }
      }),
    );
  }

  private async meet({ name, run }: Fault): Promise<void> {
    const hits = await run();
    const count = this.counts.get(name) ?? { done: 0, hits: 0 };
    this.counts.set(name, { done: count.done + 1, hits: count.hits + hits });
    console.log(`${name}: ${hits} hits`);
  }

  private atCrms(random: Seeded): Fault[] {
    const { crms, lookedInto, open } = this.options;
    const oneOf = (names: readonly string[]) => new CrmWitness(`${open.endpoints().sandboxCrm}-${random.pick(names)}`);
    const faultOf = (what: string, run: () => Promise<number>): Fault => ({ name: `a CRM ${what}`, run });
    const writes = Object.entries(crmRules).map(([what, rule]) => {
      const crm = oneOf(crms);
      return faultOf(what, () => this.rule(crm, rule(random), random.between(500, 3_000)));
    });
    const lookups = Object.entries(lookupRules).map(([what, rule]) => {
      const crm = oneOf(lookedInto);
      return faultOf(what, async () => {
        await crm.rule({ name: 'doubt', ...doubt });
        return this.rule(crm, rule(random), random.between(500, 3_000)).finally(() => crm.heal('doubt'));
      });
    });
    return [...writes, ...lookups];
  }

  private inTheChat(random: Seeded): Fault[] {
    const chat = new CrmWitness(this.options.open.endpoints().sandboxChat);
    return Object.entries(chatRules).map(([what, rule]) => ({
      name: `the chat ${what}`,
      run: () => this.rule(chat, rule(random), random.between(500, 2_000)),
    }));
  }

  /** In force until it is met, and a while longer. */
  private async rule(witness: CrmWitness, rule: Rule, ms: number): Promise<number> {
    const name = `random-${this.rules++}`;
    await witness.rule({ name, ...rule });
    await metWithin(async () => (await witness.hits(name)) > 0);
    await pause(ms);
    await witness.heal(name);
    return witness.hits(name);
  }

  private inTheNetwork(random: Seeded): Fault[] {
    const { door, refused } = this.options;
    const kinds: Record<string, () => Promise<void> | void> = {
      'is slow': () => door.delay(random.between(300, 1_200)),
      'delays answers beyond the timeout': () => door.delay(random.between(2_200, 3_500)),
      'cuts before the request has come': () => door.reset('before'),
      'cuts before the answer has come': () => door.reset('after'),
      'cuts in the middle of an answer': () => door.reset('after', { bytes: random.between(1, 60) }),
      'swallows everything': () => door.blackhole(),
    };
    const fault = (what: string, begin: () => Promise<void> | void, hits: () => Promise<number>): Fault => ({
      name: `the network ${what}`,
      run: async () => {
        const before = await hits();
        await begin();
        await metWithin(async () => (await hits()) > before);
        await pause(random.between(500, 3_000));
        await door.heal();
        return (await hits()) - before;
      },
    });
    return [
      // Of connects that are refused the door knows nothing.
      fault('refuses connections', () => door.refuse(), refused),
      ...Object.entries(kinds).map(([what, begin]) => fault(what, begin, () => Promise.resolve(door.hits))),
    ];
  }

  private inTheMachines(random: Seeded): Fault[] {
    const { stack } = this.options.open;
    return [
      ...killed.map((app): Fault => ({ name: `${app} is killed`, run: () => this.kill(app) })),
      { name: 'crm-writer is killed', run: () => this.kill('crm-writer') },
      { name: 'a second crm-writer joins and leaves', run: () => this.joinAndLeave(random) },
      { name: 'crm-writer stands still', run: () => this.freeze('crm-writer', random.between(2_000, 8_000)) },
      ...parts.map(
        (part): Fault => ({
          name: `${part} is killed`,
          run: async () => {
            await stack.restartInfra(part);
            return 1;
          },
        }),
      ),
      ...parts.map(
        (part): Fault => ({
          name: `${part} is away`,
          run: async () => {
            await stack.stopInfra(part);
            await pause(random.between(1_000, 4_000));
            await stack.startInfra(part);
            return 1;
          },
        }),
      ),
      ...connected.map(
        (part): Fault => ({
          name: `${part} stands still`,
          run: async () => {
            await stack.freezeInfra(part, random.between(2_000, 10_000));
            return 1;
          },
        }),
      ),
    ];
  }

  private async kill(app: string): Promise<number> {
    const { stack } = this.options.open;
    await stack.ready(app, backLimitMs);
    await stack.kill(app);
    return 1;
  }

  /** Two rebalances, with records in hand at the second; now it says that it goes, now its session has to run out. Met when it was given records. */
  private async joinAndLeave(random: Seeded): Promise<number> {
    const { open, second } = this.options;
    const staysMs = random.between(500, 4_000);
    const signal = random.pick(['SIGTERM', 'SIGKILL'] as const);
    const writer = await startSecondWriter(open.stack, second).catch((error: unknown) => {
      // Nothing starts while what it needs is away, which another fault may see to: it counts as not met.
      console.log(`a second crm-writer did not start: ${String(error)}`);
      return undefined;
    });
    if (writer === undefined) return 0;
    const consumed = (): Promise<number> => recordsConsumed(second.port).catch(() => 0);
    try {
      await metWithin(async () => (await consumed()) > 0);
      await pause(staysMs);
      return await consumed();
    } finally {
      await writer.stop(signal);
    }
  }

  /** Longer than its lease, at times: what it held is another's when it goes on. */
  private async freeze(app: string, ms: number): Promise<number> {
    const { stack } = this.options.open;
    await stack.ready(app, backLimitMs);
    const pid = await eventually(`${app} to run`, () => stack.endpoints().pids[app]);
    if (identify(pid) === undefined) return 0;
    process.kill(pid, 'SIGSTOP');
    try {
      await pause(ms);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    return 1;
  }
}
