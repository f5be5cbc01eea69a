import { readFileSync } from 'node:fs';
import { eventually, pause } from '#testkit';
import { ask, CrmWitness } from '../tour/crm-witness.js';
import { type CrmSite, writeCrmSite } from './crm-site.js';
import type { OpenStack } from './stack.js';
import { leadBody } from './traffic.js';

/** Two CRMs with leads of their own: one that will be down for a while, and one that has nothing to do with it. */
type Form = 'broken' | 'steady';
export const forms: readonly Form[] = ['broken', 'steady'];

/** Calls of each CRM at once. */
export const concurrency = 6;
/** Answers of both CRMs come after this time, so that no drain is faster than about 150 leads a second. */
export const crmLatencyMs = 40;

const sampleMs = 250;
/** A post is repeated until it is answered 202, for this long. */
const postLimitMs = 60_000;
const atOnce = 40;

/** A site file for both; `remove` when the stack has ended. */
export function twoCrmSite(): ReturnType<typeof writeCrmSite> {
  // The breaker takes two seconds to see twenty failures: in that time no lead is to spend all of its attempts.
  const own = { native_idempotency: true, concurrency, backoff: { base: '5s', cap: '15s' } };
  const site: CrmSite = {
    crms: { broken: own, steady: own },
    policies: { default: { attempts: 4, deadline: '4h', max_age: '7d' } },
  };
  return writeCrmSite(site);
}

interface Lead {
  form: Form;
  postedMs: number;
}

interface CrmLead {
  external_id: string;
  received_at: string;
}

/** Leads for both CRMs through intake at a steady rate, which no CRM slows down. */
class SteadyLoad {
  readonly leads = new Map<string, Lead>();
  readonly accepted: Record<Form, number> = { broken: 0, steady: 0 };
  /** Posts that were never answered 202. */
  failed = 0;
  private sent = 0;
  private timer: NodeJS.Timeout | undefined;
  private readonly open = new Set<Promise<void>>();

  constructor(
    private readonly stack: OpenStack,
    /** For each CRM. */
    readonly perSecond: number,
  ) {}

  start(): void {
    const begun = performance.now();
    let due = 0;
    this.timer = setInterval(() => {
      for (const until = ((performance.now() - begun) / 1_000) * this.perSecond; due < until; due += 1) {
        for (const form of forms) this.track(this.post(form));
      }
    }, 20);
  }

  /** Hands in more than a CRM takes in that time. */
  async burst(form: Form, count: number): Promise<void> {
    for (let left = count; left > 0; left -= atOnce) await Promise.all(Array.from({ length: atOnce }, () => this.post(form)));
  }

  /** Hands in no more, and waits until every post has its answer. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.open);
  }

  private track(work: Promise<void>): void {
    const tracked = work
      .catch(() => {
        this.failed += 1;
      })
      .finally(() => this.open.delete(tracked));
    this.open.add(tracked);
  }

  private async post(form: Form): Promise<void> {
    const n = this.sent++;
    const postedMs = Date.now();
    const body = { ...leadBody(`two-crms-${n}`, n), form };
    const accepted = async () => {
      const answer = await this.stack.intake.post(body);
      if (answer.status !== 202) throw new Error(`intake answered ${answer.status}`);
      return answer.body;
    };
    const { event_id } = await eventually('a lead to be accepted', accepted, { timeoutMs: postLimitMs, everyMs: 200 });
    this.leads.set(String(event_id), { form, postedMs });
    this.accepted[form] += 1;
  }
}

/** Resident memory of services in MB. */
export interface Memory {
  writer: number;
  intake: number;
}

const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1_024;

/** The larger figure of each service. */
export const most = (a: Memory, b: Memory): Memory => ({
  writer: Math.max(a.writer, b.writer),
  intake: Math.max(a.intake, b.intake),
});

/** A stack with both CRMs under a steady load, and what is seen of it from outside. */
export class TwoCrms {
  readonly load: SteadyLoad;
  readonly broken: CrmWitness;
  /** Backlog below which a drain counts as over: new leads keep arriving. */
  private readonly drained: number;

  constructor(
    private readonly stack: OpenStack,
    perSecond: number,
  ) {
    this.load = new SteadyLoad(stack, perSecond);
    this.broken = new CrmWitness(this.urlOf('broken'));
    this.drained = perSecond;
  }

  async slowDown(): Promise<void> {
    for (const form of forms) await new CrmWitness(this.urlOf(form)).rule({ name: 'slow', operation: 'lead', latencyMs: crmLatencyMs });
  }

  /** Every request of the one CRM fails, its check too. */
  async breakDown(): Promise<void> {
    for (const operation of ['lead', 'check']) await this.broken.rule({ name: 'down', operation, status: 503 });
  }

  /** Requests that met the outage that ends with this. */
  async comeBack(): Promise<number> {
    const hits = await this.broken.hits('down');
    await this.broken.heal('down');
    return hits;
  }

  stats = (form: Form): Promise<{ records: number; duplicateEffects: number }> => ask(`${this.urlOf(form)}/stats`);

  memory(): Memory {
    const { pids } = this.stack.endpoints();
    return { writer: residentMb(pids['crm-writer'] ?? 0), intake: residentMb(pids.intake ?? 0) };
  }

  /** The most memory of each service that is seen in the time. */
  async mostMemory(seconds: number): Promise<Memory> {
    let seen = this.memory();
    for (const end = performance.now() + seconds * 1_000; performance.now() < end; await pause(1_000)) seen = most(seen, this.memory());
    return seen;
  }

  /**
   * Records per second at the CRM from the time when a tenth of the backlog is gone until a tenth is left, or for `limitMs` where it does not
   * get less so soon; NaN where there is nothing to measure.
   */
  async drain(limitMs = Number.POSITIVE_INFINITY): Promise<number> {
    const begun = performance.now();
    const start = (await this.stats('broken')).records;
    const backlog = this.load.accepted.broken - start;
    const marks: { atMs: number; records: number }[] = [];
    for (let left = backlog; left > Math.max(this.drained, backlog / 10) && performance.now() - begun < limitMs; await pause(sampleMs)) {
      const { records } = await this.stats('broken');
      left = this.load.accepted.broken - records;
      if (left <= backlog * 0.9) marks.push({ atMs: performance.now(), records });
    }
    const [first, last] = [marks[0], marks.at(-1)];
    if (first === undefined || last === undefined || first === last) return Number.NaN;
    return ((last.records - first.records) * 1_000) / (last.atMs - first.atMs);
  }

  /** Waits until both CRMs have all but a second's leads. */
  async caughtUp(): Promise<void> {
    const behind = async (form: Form): Promise<number> => this.load.accepted[form] - (await this.stats(form)).records;
    await eventually('both CRMs to have caught up', async () => (await behind('broken')) + (await behind('steady')) <= this.drained, {
      timeoutMs: 900_000,
      everyMs: 500,
    });
  }

  /** From the call to intake to the arrival at the CRM, in ms, of the steady leads posted in the time. */
  async waits(fromMs: number, untilMs: number): Promise<number[]> {
    const arrived = new Map((await this.records('steady')).map((lead) => [lead.external_id, Date.parse(lead.received_at)]));
    return [...this.load.leads]
      .filter(([, { form, postedMs }]) => form === 'steady' && postedMs >= fromMs && postedMs < untilMs)
      .map(([id, { postedMs }]) => (arrived.get(id) ?? Number.POSITIVE_INFINITY) - postedMs)
      .sort((a, b) => a - b);
  }

  /** Accepted leads that their CRM does not have exactly once. */
  async notOnce(): Promise<string[]> {
    const counts = new Map<string, number>();
    for (const form of forms) {
      for (const { external_id } of await this.records(form))
        counts.set(`${form} ${external_id}`, (counts.get(`${form} ${external_id}`) ?? 0) + 1);
    }
    return [...this.load.leads].flatMap(([id, { form }]) => (counts.get(`${form} ${id}`) === 1 ? [] : [`${form} ${id}`]));
  }

  private async records(form: Form): Promise<CrmLead[]> {
    return (await ask<{ leads: CrmLead[] }>(`${this.urlOf(form)}/data`)).leads;
  }

  private urlOf(form: Form): string {
    return `${this.stack.endpoints().sandboxCrm}-${form}`;
  }
}
