import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { eventually, pause } from '#testkit';
import { writeCrmSite } from '../support/crm-site.js';
import { type OpenStack, openStack } from '../support/stack.js';
import { at } from '../support/tier-lateness.js';
import { leadBody } from '../support/traffic.js';
import { ask, CrmWitness } from '../tour/crm-witness.js';
import { type BenchResult, writeReport } from './report.js';

/**
 * One CRM of two fails every request for a while (BENCH_OUTAGE_SECONDS, default 60; 600 are ten minutes) while leads for both arrive through
 * intake: how fast its backlog drains when it is back, what the crm-writer's memory does, and what the other CRM's leads notice. The steady
 * rate is that of a backlog that was handed in at once, with the same leads arriving and a CRM as slow.
 */
const outageSeconds = Number(process.env.BENCH_OUTAGE_SECONDS ?? 60);
const beforeSeconds = Math.min(60, outageSeconds);
/** Leads for each CRM. */
const perSecond = 50;
const crmLatencyMs = 40;
const concurrency = 6;
const sampleMs = 250;
const burstLeads = 2_000;
const atOnce = 40;
/** Backlog below which a drain counts as over: new leads keep arriving. */
const drained = perSecond;

type Form = 'broken' | 'steady';
interface Lead {
  form: Form;
  postedMs: number;
}

interface CrmLead {
  external_id: string;
  received_at: string;
}

class Load {
  readonly leads = new Map<string, Lead>();
  readonly accepted: Record<Form, number> = { broken: 0, steady: 0 };
  refused = 0;
  private sent = 0;
  private timer: NodeJS.Timeout | undefined;
  private readonly open = new Set<Promise<void>>();

  constructor(private readonly stack: OpenStack) {}

  start(): void {
    const begun = performance.now();
    let due = 0;
    this.timer = setInterval(() => {
      for (const until = ((performance.now() - begun) / 1_000) * perSecond; due < until; due += 1) {
        for (const form of ['broken', 'steady'] as const) this.track(this.post(form));
      }
    }, 20);
  }

  /** Hands in more than a CRM takes in that time. */
  async burst(form: Form, count: number): Promise<void> {
    for (let left = count; left > 0; left -= atOnce) await Promise.all(Array.from({ length: atOnce }, () => this.post(form)));
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.open);
  }

  private track(work: Promise<void>): void {
    const tracked = work
      .catch(() => {
        this.refused += 1;
      })
      .finally(() => this.open.delete(tracked));
    this.open.add(tracked);
  }

  private async post(form: Form): Promise<void> {
    const n = this.sent++;
    const postedMs = Date.now();
    const { status, body } = await this.stack.intake.post({ ...leadBody(`drain-${n}`, n), form });
    if (status !== 202) throw new Error(`intake answered ${status}`);
    this.leads.set(String(body.event_id), { form, postedMs });
    this.accepted[form] += 1;
  }
}

const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1_024;

class DrainBench {
  readonly load: Load;
  readonly broken: CrmWitness;

  constructor(readonly stack: OpenStack) {
    this.load = new Load(stack);
    this.broken = new CrmWitness(this.urlOf('broken'));
  }

  urlOf = (form: Form): string => `${this.stack.endpoints().sandboxCrm}-${form}`;

  stats = (form: Form): Promise<{ records: number; duplicateEffects: number }> => ask(`${this.urlOf(form)}/stats`);

  memory = (): number => residentMb(this.stack.endpoints().pids['crm-writer'] ?? 0);

  /** Records per second at the CRM from the time when a tenth of the backlog is gone until a tenth is left. */
  async drain(): Promise<number> {
    const start = (await this.stats('broken')).records;
    const backlog = this.load.accepted.broken - start;
    const marks: { atMs: number; records: number }[] = [];
    for (let left = backlog; left > Math.max(drained, backlog / 10); await pause(sampleMs)) {
      const { records } = await this.stats('broken');
      left = this.load.accepted.broken - records;
      if (left <= backlog * 0.9) marks.push({ atMs: performance.now(), records });
    }
    const [first, last] = [marks[0], marks.at(-1)];
    if (first === undefined || last === undefined || first === last) throw new Error('the backlog was gone before it could be measured');
    return ((last.records - first.records) * 1_000) / (last.atMs - first.atMs);
  }

  /** The most memory, in MB, that is seen in the time. */
  async mostMemory(seconds: number): Promise<number> {
    let most = 0;
    for (const end = performance.now() + seconds * 1_000; performance.now() < end; await pause(1_000)) most = Math.max(most, this.memory());
    return most;
  }

  async caughtUp(): Promise<void> {
    const behind = async (form: Form): Promise<number> => this.load.accepted[form] - (await this.stats(form)).records;
    await eventually('both CRMs to have caught up', async () => (await behind('broken')) + (await behind('steady')) <= drained, {
      timeoutMs: 900_000,
      everyMs: 500,
    });
  }

  /** From the call to intake to the arrival at the CRM, in ms, of the steady leads posted in the time. */
  async waits(fromMs: number, untilMs: number): Promise<number[]> {
    const { leads } = await ask<{ leads: CrmLead[] }>(`${this.urlOf('steady')}/data`);
    const arrived = new Map(leads.map((lead) => [lead.external_id, Date.parse(lead.received_at)]));
    return [...this.load.leads]
      .filter(([, { form, postedMs }]) => form === 'steady' && postedMs >= fromMs && postedMs < untilMs)
      .map(([id, { postedMs }]) => (arrived.get(id) ?? Number.POSITIVE_INFINITY) - postedMs)
      .sort((a, b) => a - b);
  }
}

async function measure(bench: DrainBench): Promise<BenchResult[]> {
  const { load, broken } = bench;
  for (const form of ['broken', 'steady'] as const) {
    await new CrmWitness(bench.urlOf(form)).rule({ name: 'slow', operation: 'lead', latencyMs: crmLatencyMs });
  }
  load.start();
  // The process is warm when it is measured.
  await pause(beforeSeconds * 1_000);
  await load.burst('broken', burstLeads);
  const steadyRate = await bench.drain();
  await bench.caughtUp();
  console.error(`steady rate: ${steadyRate.toFixed(0)} leads/s`);

  const beforeMs = Date.now();
  const memoryBefore = await bench.mostMemory(beforeSeconds);
  const outageMs = Date.now();
  await broken.rule({ name: 'down', operation: 'lead', status: 503 });
  await broken.rule({ name: 'down', operation: 'check', status: 503 });
  const memoryDuring = await bench.mostMemory(outageSeconds);
  const hits = await broken.hits('down');
  await broken.heal('down');
  const backMs = Date.now();
  const drainRate = await bench.drain();
  const memoryAfter = bench.memory();
  const drainedMs = Date.now();
  await load.stop();
  await bench.caughtUp();
  await eventually('every lead to be at its CRM', async () => (await bench.stats('broken')).records >= load.accepted.broken, {
    timeoutMs: 120_000,
  });
  if (hits === 0) throw new Error('the outage met no request');
  const [alone, during] = [await bench.waits(beforeMs, outageMs), await bench.waits(outageMs, drainedMs)];
  // Apart as well: while a CRM is down there is less to do for everybody, and while it drains there is more.
  const parts = { outage: await bench.waits(outageMs, backMs), drain: await bench.waits(backMs, drainedMs) };
  const shares = Object.entries(parts).map(([part, ms]) => `${part} alone ${at(ms, 0.99).toFixed(0)}`);
  const duplicates = (await bench.stats('broken')).duplicateEffects + (await bench.stats('steady')).duplicateEffects;
  const most = Math.max(memoryDuring, memoryAfter);
  console.error(
    `${hits} requests met the outage; drained ${((drainedMs - backMs) / 1_000).toFixed(1)} s after it; ${load.refused} posts failed`,
  );
  const size = `${perSecond} leads/s for each of two CRMs, one of which fails for ${outageSeconds} s`;
  return [
    {
      what: `drain of the backlog when the CRM is back, against that of a backlog without an outage; ${size}`,
      unit: 'leads/s',
      ours: drainRate,
      baseline: steadyRate,
      ratio: drainRate / steadyRate,
      goal: '>= 0.8',
      note: `CRM answers after ${crmLatencyMs} ms, ${concurrency} calls in flight; one sample; the outage met ${hits} requests`,
    },
    {
      what: 'memory of crm-writer in the outage and the drain, against before',
      unit: 'MB',
      ours: most,
      baseline: memoryBefore,
      ratio: most / memoryBefore,
      goal: '< 1.3',
    },
    {
      what: "the other CRM's time (p99) from the call to intake to its arrival, outage and drain against before",
      unit: 'ms',
      ours: at(during, 0.99),
      baseline: at(alone, 0.99),
      ratio: at(during, 0.99) / at(alone, 0.99),
      goal: '<= 1.5',
      note: `p50 ${at(during, 0.5).toFixed(0)} against ${at(alone, 0.5).toFixed(0)}; p99 of the ${shares.join(', of the ')}; machine's load ${loadavg()[0]?.toFixed(1)}`,
    },
    { what: 'leads that a CRM has twice', unit: 'leads', ours: duplicates, goal: '0' },
  ];
}

const own = { native_idempotency: true, concurrency, backoff: { base: '1s', cap: '15s' } };
const site = writeCrmSite({
  crms: { broken: own, steady: own },
  policies: { default: { attempts: 4, deadline: '4h', max_age: '7d' } },
});
const stack = await openStack({ config: site.file });
try {
  writeReport({ bench: 'drain', results: await measure(new DrainBench(stack)) });
} finally {
  await stack.close();
  site.remove();
}
