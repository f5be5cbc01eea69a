import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CrashPoint } from '#runtime';
import { runPaths } from '#testkit';
import { type BalanceRun, runBalance } from './balance.js';
import { Crashes } from './crashes.js';
import { eventually } from './eventually.js';
import type { OpenStack } from './stack.js';
import { leadBody } from './traffic.js';

/** A form, and the destination that its leads go to: `native` repeats an answer by its key, `plain` makes another record. */
export type Door = 'native' | 'plain';

export interface CrashCase {
  app: 'crm-writer' | 'intake';
  doors: Door[];
  /** What has to happen before the step is met; default: a lead. */
  provoke?: 'leases that ran out' | 'an answer lost after the commit' | 'an approved item' | 'a retry tier';
}

export interface Accounts {
  leads: number;
  /** Case and event id of each lead that is not at its CRM. */
  lost: string[];
  doubled: string[];
  /** At its CRM, and not said to be delivered. */
  notDelivered: string[];
  /** Cases that put no lead in. */
  uneventful: string[];
  balance: BalanceRun;
}

interface CrashLead {
  name: string;
  door: Door;
  eventId: string;
}

const leadsPerCase = 6;
/** A killed verifier's lease on a row is a minute. */
const settleLimitMs = 240_000;
const leaseMs = 6_000;

/** Crashes one after the other on one stack; what became of their leads is looked at in the end, when all had the time to recover. */
export class CrashScene {
  private readonly leads: CrashLead[] = [];
  private posted = 0;

  constructor(private readonly open: OpenStack) {}

  async begin(): Promise<void> {
    await this.control('plain', { idempotency: 'off' });
  }

  async crash(
    name: string,
    { point, door, app, provoke }: { point: CrashPoint; door: Door; app: CrashCase['app']; provoke?: CrashCase['provoke'] },
  ): Promise<void> {
    await this.open.stack.ready('intake');
    const crashes = new Crashes(this.open.stack, app);
    // Nobody else's leads come in the way while it is armed.
    const env: Record<string, string> = app === 'crm-writer' ? { LD_DESTINATIONS: `${door}-crm` } : {};
    if (provoke === 'leases that ran out') await this.loseLeases(name, door, { crashes, env });
    else if (provoke === 'a retry tier') await this.wait(name, door, () => crashes.arm(point, env));
    else if (provoke === 'an approved item') await this.replay(name, door, () => crashes.arm(point, env));
    else {
      if (provoke === 'an answer lost after the commit') await this.control(door, { operation: 'lead', reset: 'after', times: 1 });
      await crashes.arm(point, env);
      await this.post(name, door, provoke === undefined ? leadsPerCase : 1);
    }
    // Where it was not met, nobody may meet it later.
    await crashes.reached(point).finally(() => crashes.kill());
  }

  /** Waits until every lead has recovered, and reports by id. */
  async settle(names: readonly string[]): Promise<Accounts> {
    await eventually(async () => {
      const { lost, notDelivered } = await this.count();
      if (lost.length + notDelivered.length > 0) throw new Error(`${lost.length} leads lost, ${notDelivered.length} not delivered`);
    }, settleLimitMs).catch((error: Error) => console.log(error.message));
    const withLeads = new Set(this.leads.map(({ name }) => name));
    const balance = await runBalance(this.open.stack.runDir);
    return { ...(await this.count()), uneventful: names.filter((name) => !withLeads.has(name)), balance, leads: this.leads.length };
  }

  private async count(): Promise<Pick<Accounts, 'lost' | 'doubled' | 'notDelivered'>> {
    const counts = { native: await this.records('native'), plain: await this.records('plain') };
    const of = ({ door, eventId }: CrashLead): number => counts[door].get(eventId) ?? 0;
    const say = ({ name, eventId }: CrashLead): string => `${name}: ${eventId}`;
    const states = await Promise.all(this.leads.map(({ eventId, door }) => this.state(eventId, door)));
    return {
      lost: this.leads.filter((lead) => of(lead) === 0).map(say),
      doubled: this.leads.filter((lead) => of(lead) > 1).map(say),
      notDelivered: this.leads.flatMap((lead, at) => (states[at] === 'delivered' ? [] : [`${say(lead)} ${states[at]}`])),
    };
  }

  /** The app dies with claims, is away until their leases have run out, and finds them when it comes back. */
  private async loseLeases(name: string, door: Door, { crashes, env }: { crashes: Crashes; env: Record<string, string> }): Promise<void> {
    await crashes.arm('claimed', env);
    await this.post(name, door, leadsPerCase);
    await crashes.reached('claimed');
    await crashes.killAndArm('swept', { downMs: leaseMs + 1_000, env });
  }

  /** One lead is asked to wait: its next record lies on a retry tier, and nothing else is under way. */
  private async wait(name: string, door: Door, arm: () => Promise<void>): Promise<void> {
    await this.ready(door);
    await this.control(door, { operation: 'lead', status: 429, headers: { 'Retry-After': '10' }, times: 1 });
    const [eventId = ''] = await this.post(name, door, 1);
    await this.becomes(eventId, door, 'waiting');
    await arm();
  }

  /** One lead is refused for good, and a person approves that it is sent again. */
  private async replay(name: string, door: Door, arm: () => Promise<void>): Promise<void> {
    await this.ready(door);
    await this.control(door, { operation: 'lead', status: 422, times: 1 });
    const [eventId = ''] = await this.post(name, door, 1);
    await this.becomes(eventId, door, 'dead');
    await arm();
    await eventually(async () => expectOne(await this.approve(eventId, door)), 60_000);
  }

  /** The last crash is over: no earlier lead of this CRM would meet the next rule. */
  private async ready(door: Door): Promise<void> {
    await this.open.stack.ready('crm-writer');
    await eventually(async () => {
      const mine = this.leads.filter((lead) => lead.door === door);
      const states = await Promise.all(mine.map(({ eventId }) => this.state(eventId, door)));
      const open = states.filter((state) => state !== 'delivered').length;
      if (open > 0) throw new Error(`${open} earlier leads are open`);
    }, settleLimitMs);
  }

  private async post(name: string, door: Door, count: number): Promise<string[]> {
    const eventIds = await Promise.all(Array.from({ length: count }, () => this.postOne(door)));
    for (const eventId of eventIds) this.leads.push({ name, door, eventId });
    return eventIds;
  }

  /** The same lead is handed in until it is answered 202, as a website would do. */
  private async postOne(door: Door): Promise<string> {
    const n = this.posted++;
    const body = { ...leadBody(`crash-${n}`, n), form: door };
    let eventId = '';
    await eventually(async () => {
      const answer = await this.open.intake.post(body);
      if (answer.status !== 202) throw new Error(`intake answered ${answer.status}`);
      eventId = String(answer.body.event_id);
    }, 60_000);
    return eventId;
  }

  private async state(eventId: string, door: Door): Promise<string> {
    const { body } = await this.open.intake.get(`/v1/leads/${eventId}`);
    const deliveries = (body.deliveries ?? []) as { destination: string; state: string }[];
    return deliveries.find(({ destination }) => destination === `${door}-crm`)?.state ?? 'unknown';
  }

  private becomes(eventId: string, door: Door, state: string): Promise<void> {
    return eventually(async () => {
      const now = await this.state(eventId, door);
      if (now !== state) throw new Error(`${eventId} is ${now}, not ${state}`);
    }, 60_000);
  }

  private async approve(eventId: string, door: Door): Promise<number> {
    const { stack, endpoints } = this.open;
    const tokens = JSON.parse(readFileSync(join(runPaths(stack.runDir).secrets, 'internal-tokens.json'), 'utf8')) as Record<string, string>;
    const answer = await fetch(`${endpoints().internal.operator}/internal/v1/items:approve`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens.leadctl}` },
      body: JSON.stringify({
        approver: 'ada',
        reason: 'crash test',
        new_deadline: '4h',
        select: { destination: `${door}-crm`, event_ids: [eventId] },
        max: 1,
      }),
    });
    return ((await answer.json()) as { approved?: number }).approved ?? 0;
  }

  private crmUrl(door: Door): string {
    const { sandboxCrm } = this.open.endpoints();
    return door === 'native' ? sandboxCrm : `${sandboxCrm}-plain`;
  }

  private async control(door: Door, rule: Record<string, unknown>): Promise<void> {
    const answer = await fetch(`${this.crmUrl(door)}/control`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(rule),
    });
    if (!answer.ok) throw new Error(`the sandbox took no rule: ${await answer.text()}`);
  }

  private async records(door: Door): Promise<Map<string, number>> {
    const answer = await fetch(`${this.crmUrl(door)}/data`);
    const { leads } = (await answer.json()) as { leads: { external_id: string }[] };
    const counts = new Map<string, number>();
    for (const { external_id } of leads) counts.set(external_id, (counts.get(external_id) ?? 0) + 1);
    return counts;
  }
}

function expectOne(approved: number): void {
  if (approved !== 1) throw new Error(`${approved} items approved`);
}
