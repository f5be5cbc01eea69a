import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CrashPoint } from '#runtime';
import { runPaths } from '#testkit';
import { type BalanceRun, runBalance } from './balance.js';
import { CrashEvidence, crmUrl } from './crash-evidence.js';
import type { Door, SiteDestination } from './crash-site.js';
import { Crashes } from './crashes.js';
import { eventually } from './eventually.js';
import { showsUncertain } from './ledger.js';
import type { OpenStack } from './stack.js';
import { leadBody } from './traffic.js';

/** A crash at one point; its leads have a destination of their own, which the process that crashes serves alone. */
export interface CrashCase extends SiteDestination {
  title: string;
  app: 'crm-writer' | 'intake' | 'notifier';
  point: CrashPoint;
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
  /** Leads of the notifier's cases of which nobody was told and which do not show either that this is not known. */
  untold: string[];
  /** Cases that put no lead in. */
  uneventful: string[];
  balance: BalanceRun;
}

const leadsPerCase = 6;
/** Crashes that may meet the point over something else than the case's leads before one must meet it over them. */
const mostTries = 4;
const settleLimitMs = 240_000;
const askedAtOnce = 16;
export const leaseMs = 6_000;

/** Points that other cases' rows would come to first. */
const needsOrder: readonly CrashPoint[] = ['published', 'deleted', 'committed'];

/** Of a record on its way into a tier; every other step of a tier comes after it has come back out. */
const intoTier = ({ provoke, point }: CrashCase): boolean => provoke === 'a retry tier' && (point === 'published' || point === 'deleted');

/**
 * In this order the cases that need everything else to be done come first, so that the most of the others follow without a start between; and those of
 * the notifier before all, while there is no lead but theirs to tell of.
 */
export function inOrder<C extends CrashCase>(cases: readonly C[]): C[] {
  const first = (one: C): boolean => needsOrder.includes(one.point) && one.app === 'crm-writer';
  return [
    ...cases.filter(({ app }) => app === 'notifier'),
    ...cases.filter(first),
    ...cases.filter(({ app }) => app === 'intake'),
    ...cases.filter((one) => !first(one) && one.app === 'crm-writer'),
  ];
}

/** Crashes one after the other on one stack; what became of their leads is looked at in the end, when all had the time to recover. */
export class CrashScene {
  private readonly leads: { case: CrashCase; eventId: string }[] = [];
  private readonly writer: Crashes;
  private readonly intake: Crashes;
  private readonly notifier: Crashes;
  private readonly evidence: CrashEvidence;
  private posted = 0;

  constructor(private readonly open: OpenStack) {
    this.writer = new Crashes(open.stack, 'crm-writer');
    this.intake = new Crashes(open.stack, 'intake');
    this.notifier = new Crashes(open.stack, 'notifier');
    this.evidence = new CrashEvidence(open.endpoints());
  }

  /** Has ready what a case needs of the past: a lead that was refused for good. */
  async begin(cases: readonly CrashCase[]): Promise<void> {
    await this.control('plain', { idempotency: 'off' });
    const replayed = cases.filter(({ provoke }) => provoke === 'an approved item');
    for (const one of replayed) await this.control(one.door, { operation: 'lead', campaign: one.name, status: 422, times: 1 });
    await Promise.all(replayed.map((one) => this.post(one, 1)));
    await Promise.all(this.leads.map((lead) => this.becomes(lead.eventId, 'dead')));
  }

  async crash(one: CrashCase): Promise<void> {
    if (one.app === 'intake') return this.crashIntake(one);
    if (one.app === 'notifier') return this.crashNotifier(one);
    const { provoke, point } = one;
    if (needsOrder.includes(point)) await this.recovered();
    if (provoke === 'an answer lost after the commit')
      await this.control(one.door, { operation: 'lead', campaign: one.name, reset: 'after', times: 1 });
    // Asked to wait: a retry that comes at once would be committed together with the record before it, and the second commit never comes.
    const refusal = { operation: 'lead', campaign: one.name, status: 423, headers: { 'retry-after': '2' }, times: 1 };
    if (provoke === 'a retry tier') await this.control(one.door, refusal);
    if (provoke === 'leases that ran out') await this.loseLeases(one);
    const connects = point === 'sent' && provoke !== 'a retry tier';
    const second = connects || (provoke === 'a retry tier' && !intoTier(one));
    await this.meet(one, { time: second ? 2 : 1, begin: () => this.provoke(one, { connects }) });
  }

  /** Waits until every lead has recovered, and reports by id. */
  async settle(cases: readonly CrashCase[]): Promise<Accounts> {
    await Promise.all([this.writer.disarm(), this.intake.disarm(), this.notifier.disarm()]);
    await Promise.all(['crm-writer', 'intake', 'notifier'].map((app) => this.open.stack.ready(app)));
    await eventually(async () => {
      const { lost, notDelivered, untold } = await this.count();
      const counts = `${lost.length} leads lost, ${notDelivered.length} not delivered, ${untold.length} untold`;
      if (lost.length + notDelivered.length + untold.length > 0) throw new Error(counts);
    }, settleLimitMs).catch((error: Error) => console.log(error.message));
    const balance = await runBalance(this.open.stack.runDir);
    const uneventful = cases.filter((one) => this.eventIds(one).length === 0).map(({ title }) => title);
    return { ...(await this.count()), uneventful, balance, leads: this.leads.length };
  }

  close(): Promise<void> {
    return this.evidence.close();
  }

  /** Crashes at the point until that was over a lead of the case. */
  private async meet(one: CrashCase, { time, begin }: { time: number; begin(): Promise<void> }): Promise<void> {
    const { point, door } = one;
    const [app, crashes] = one.app === 'notifier' ? (['notifier', this.notifier] as const) : (['crm-writer', this.writer] as const);
    const downMs = point === 'swept' ? leaseMs + 1_000 : 0;
    const state = intoTier(one) ? 'waiting' : undefined;
    const env: Record<string, string> = app === 'notifier' ? {} : { LD_DESTINATIONS: one.name };
    await crashes.arm({ point, time, downMs, env });
    await begin();
    for (let tries = 1; ; tries += 1) {
      await crashes.reached(point);
      if (await this.evidence.shows(point, { app, eventIds: this.eventIds(one), door, state })) return;
      if (tries === mostTries) throw new Error(`${app} stood at ${point} ${tries} times, and never over one of these leads`);
      await crashes.arm({ point, env });
    }
  }

  /** What it was about to send, or has sent, is never sent again: nobody but a person can tell whether it is in the chat. */
  private async crashNotifier(one: CrashCase): Promise<void> {
    await this.meet(one, { time: 1, begin: async () => void (await this.post(one, leadsPerCase)) });
    await this.notifier.disarm();
  }

  private async provoke(one: CrashCase, { connects }: { connects: boolean }): Promise<void> {
    if (one.provoke === 'leases that ran out') return;
    if (connects) {
      // Over a connection that is there the next request has left when its process stands still.
      const [first = ''] = await this.post(one, 1);
      await this.becomes(first, 'delivered');
    }
    if (one.provoke === 'an approved item') {
      const [dead = ''] = this.eventIds(one);
      await eventually(async () => expectOne(await this.approve(one, dead)), 60_000);
    } else await this.post(one, one.provoke === undefined && !connects ? leadsPerCase : 1);
  }

  /** The app dies with claims and is away until their leases have run out. */
  private async loseLeases(one: CrashCase): Promise<void> {
    await this.meet({ ...one, point: 'claimed' }, { time: 1, begin: async () => void (await this.post(one, leadsPerCase)) });
  }

  /** Leads that are handed in meanwhile are answered by the next process. */
  private async crashIntake(one: CrashCase): Promise<void> {
    await this.open.stack.ready('intake');
    await eventually(async () => expectNone('rows of intake unpublished', await this.evidence.unpublished('intake')), 30_000);
    const before = await this.evidence.accepted();
    await this.intake.arm({ point: one.point });
    const posting = this.post(one, leadsPerCase);
    const crashed = this.intake.reached(one.point).then(async () => {
      if ((await this.evidence.accepted()) === before) throw new Error(`intake stood at ${one.point} without a lead`);
    });
    await crashed.finally(() => this.intake.disarm());
    await posting;
    await this.open.stack.ready('intake');
  }

  /** Everything that was begun has been finished by a process that serves all. */
  private async recovered(): Promise<void> {
    await this.writer.disarm();
    await this.open.stack.ready('crm-writer');
    await eventually(async () => {
      const states = await this.states();
      expectNone('leads open', states.filter((state) => state !== 'delivered' && state !== 'dead').length);
      expectNone('rows unpublished', await this.evidence.unpublished('crm_writer'));
    }, settleLimitMs);
  }

  private async count(): Promise<Pick<Accounts, 'lost' | 'doubled' | 'notDelivered' | 'untold'>> {
    const counts = { native: await this.evidence.records('native'), plain: await this.evidence.records('plain') };
    const states = await this.states();
    const all = this.leads.map(({ case: { title, door }, eventId }, at) => {
      return { text: `${title}: ${eventId} ${states[at]}`, records: counts[door].get(eventId) ?? 0, delivered: states[at] === 'delivered' };
    });
    const texts = (some: typeof all): string[] => some.map(({ text }) => text);
    return {
      lost: texts(all.filter(({ records }) => records === 0)),
      doubled: texts(all.filter(({ records }) => records > 1)),
      notDelivered: texts(all.filter(({ delivered }) => !delivered)),
      untold: await this.untold(),
    };
  }

  private async untold(): Promise<string[]> {
    const messages = await this.evidence.messages();
    const silent = this.leads.filter(({ case: { app }, eventId }) => app === 'notifier' && !messages.has(eventId));
    const shown = await Promise.all(silent.map(async ({ eventId }) => showsUncertain(await this.lead(eventId))));
    return silent.filter((_, at) => !shown[at]).map(({ case: { title }, eventId }) => `${title}: ${eventId}`);
  }

  private eventIds(one: CrashCase): string[] {
    return this.leads.filter((lead) => lead.case.name === one.name).map(({ eventId }) => eventId);
  }

  private async post(one: CrashCase, count: number): Promise<string[]> {
    const eventIds = await Promise.all(Array.from({ length: count }, () => this.postOne(one.name)));
    for (const eventId of eventIds) this.leads.push({ case: one, eventId });
    return eventIds;
  }

  /** The same lead is handed in until it is answered 202, as a website would do. */
  private async postOne(form: string): Promise<string> {
    const n = this.posted++;
    const body = { ...leadBody(`crash-${n}`, n), form, campaign: form };
    return eventually(async () => {
      const answer = await this.open.intake.post(body);
      if (answer.status !== 202) throw new Error(`intake answered ${answer.status}`);
      return String(answer.body.event_id);
    }, 60_000);
  }

  private async lead(eventId: string): Promise<Record<string, unknown>> {
    return (await this.open.intake.get(`/v1/leads/${eventId}`)).body;
  }

  /** Of every lead, a few at a time: who asks for all at once is told to come again. */
  private async states(): Promise<string[]> {
    const states: string[] = [];
    for (let at = 0; at < this.leads.length; at += askedAtOnce) {
      const some = this.leads.slice(at, at + askedAtOnce);
      states.push(...(await Promise.all(some.map(({ eventId }) => this.state(eventId)))));
    }
    return states;
  }

  private async state(eventId: string): Promise<string> {
    const [delivery] = ((await this.lead(eventId)).deliveries ?? []) as { state: string }[];
    return delivery?.state ?? 'unknown';
  }

  private becomes(eventId: string, state: string): Promise<void> {
    return eventually(async () => {
      const now = await this.state(eventId);
      if (now !== state) throw new Error(`${eventId} is ${now}, not ${state}`);
    }, 60_000);
  }

  private async approve({ name }: CrashCase, eventId: string): Promise<number> {
    const { stack, endpoints } = this.open;
    const tokens = JSON.parse(readFileSync(join(runPaths(stack.runDir).secrets, 'internal-tokens.json'), 'utf8')) as Record<string, string>;
    const answer = await fetch(`${endpoints().internal.operator}/internal/v1/items:approve`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens.leadctl}` },
      body: JSON.stringify({
        approver: 'ada',
        reason: 'crash test',
        new_deadline: '4h',
        select: { destination: name, event_ids: [eventId] },
        max: 1,
      }),
    });
    return ((await answer.json()) as { approved?: number }).approved ?? 0;
  }

  private async control(door: Door, rule: Record<string, unknown>): Promise<void> {
    const answer = await fetch(`${crmUrl(this.open.endpoints(), door)}/control`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(rule),
    });
    if (!answer.ok) throw new Error(`the sandbox took no rule: ${await answer.text()}`);
  }
}

function expectOne(approved: number): void {
  if (approved !== 1) throw new Error(`${approved} items approved`);
}

function expectNone(what: string, count: number): void {
  if (count > 0) throw new Error(`${count} ${what}`);
}
