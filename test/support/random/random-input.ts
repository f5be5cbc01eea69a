import { pause } from '#testkit';
import { eventually } from '../eventually.js';
import type { OpenStack } from '../stack.js';
import { leadBody } from '../traffic.js';
import type { Seeded } from './seeded.js';

type Submitted = Parameters<OpenStack['upstream']['send']>[0][number];

interface SentLead {
  id: string;
  n: number;
  form: string;
}

/** Leads through both doors, some of them twice, and beside them what is no lead at all. */
export class RandomInput {
  /** Event id → form, for leads answered 202. */
  readonly accepted = new Map<string, string>();
  /** Source event id → form, for leads that the broker acknowledged. */
  readonly produced = new Map<string, string>();
  /** What no intake should have answered. */
  readonly wrong: string[] = [];
  repeated = 0;
  malformed = 0;
  private readonly posted: (SentLead & { eventId: string })[] = [];
  private sent = 0;
  private running = true;
  private readonly open = new Set<Promise<void>>();
  private loops: Promise<void>[] = [];

  constructor(
    private readonly stack: OpenStack,
    private readonly options: { forms: readonly string[]; random: Seeded },
  ) {}

  start(): void {
    this.loops = [this.overHttp(), this.overKafka()];
  }

  /** Ends both doors and waits until each lead handed in has its answer; gives event id → form of all that were accepted. */
  async stop(): Promise<Map<string, string>> {
    this.running = false;
    await Promise.all(this.loops);
    await Promise.all(this.open);
    const all = new Map(this.accepted);
    const sources = [...this.produced];
    for (let at = 0; at < sources.length; at += 16) {
      await Promise.all(sources.slice(at, at + 16).map(async ([id, form]) => all.set(await this.eventIdOf(id), form)));
    }
    return all;
  }

  private async overHttp(): Promise<void> {
    const { random } = this.options;
    while (this.running) {
      const earlier = random.chance(0.1) && this.posted.length > 0 ? random.pick(this.posted) : undefined;
      if (random.chance(0.06)) this.track(this.postMalformed());
      else this.track(this.post(earlier ?? this.next(), earlier?.eventId));
      await pause(random.between(50, 150));
    }
  }

  private async overKafka(): Promise<void> {
    const { random } = this.options;
    while (this.running) {
      const leads = Array.from({ length: random.between(1, 5) }, () => this.next());
      const twice = random.chance(0.2) ? leads.slice(0, 1) : [];
      this.repeated += twice.length;
      this.track(this.produce([...leads, ...twice]));
      if (random.chance(0.1)) this.track(this.produceMalformed());
      await pause(random.between(300, 700));
    }
  }

  private next(): SentLead {
    const n = this.sent++;
    return { id: `random-${n}`, n, form: this.options.random.pick(this.options.forms) };
  }

  private track(work: Promise<void>): void {
    const tracked = work.finally(() => this.open.delete(tracked));
    this.open.add(tracked);
  }

  /** Tries until it is answered 202, as a website would; a repeated one must be answered with the event id it has. */
  private async post(lead: SentLead, known?: string): Promise<void> {
    if (known !== undefined) this.repeated += 1;
    const body = { ...leadBody(lead.id, lead.n), form: lead.form };
    for (;;) {
      const answer = await this.stack.intake.post(body).catch(() => undefined);
      const eventId = String(answer?.body.event_id);
      if (answer?.status === 202 || (known !== undefined && answer?.status === 200)) {
        if (known === undefined) this.posted.push({ ...lead, eventId });
        else if (eventId !== known) this.wrong.push(`${lead.id} is ${known} and ${eventId}`);
        this.accepted.set(eventId, lead.form);
        return;
      }
      if (answer && answer.status < 500 && answer.status !== 429) {
        this.wrong.push(`${lead.id} was answered ${answer.status}`);
        return;
      }
      await pause(200);
    }
  }

  private async postMalformed(): Promise<void> {
    const { random } = this.options;
    const whole = leadBody(`malformed-${this.malformed++}`, 0);
    const bad = random.pick<unknown>([
      '{"source_event_id":',
      '',
      '[]',
      { ...whole, source_event_id: undefined },
      { ...whole, contact: 'none' },
      { ...whole, consent: { given: 'perhaps' } },
      { ...whole, message: 'a\u0000b' },
      { ...whole, message: 'x'.repeat(100_000) },
    ]);
    const answer = await this.stack.intake.post(bad).catch(() => undefined);
    if (answer && answer.status < 400) this.wrong.push(`${JSON.stringify(bad)} was answered ${answer.status}`);
  }

  /** Now and then with one among them that no table takes as it is: it is refused, and the others are not. */
  private async produce(leads: readonly SentLead[]): Promise<void> {
    const { random } = this.options;
    const records = leads.map(({ id, n, form }): Submitted => ({ sourceEventId: id, n, overrides: { form } }));
    if (random.chance(0.1)) {
      const message = random.pick(['a\u0000b', 'x'.repeat(100_000)]);
      records.splice(random.between(0, records.length), 0, {
        sourceEventId: `malformed-${this.malformed++}`,
        n: 0,
        overrides: { message },
      });
    }
    await this.untilSent(() => this.stack.upstream.send(records));
    for (const { id, form } of leads) this.produced.set(id, form);
  }

  private produceMalformed(): Promise<void> {
    const { random } = this.options;
    this.malformed += 1;
    const value = random.pick([
      Buffer.alloc(0),
      Buffer.from('no record of anybody'),
      Buffer.from([0, 0, 0]),
      Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3]),
      Buffer.alloc(2_000, 0xff),
    ]);
    return this.untilSent(() => this.stack.upstream.sendRaw([{ key: null, value }]));
  }

  private async untilSent(send: () => Promise<void>): Promise<void> {
    while (
      !(await send().then(
        () => true,
        () => false,
      ))
    ) {
      await pause(200);
    }
  }

  private eventIdOf(sourceEventId: string): Promise<string> {
    return eventually(async () => {
      const answer = await this.stack.intake.get(`/v1/leads?source_event_id=${encodeURIComponent(sourceEventId)}`);
      if (answer.status !== 200) throw new Error(`${sourceEventId} answered ${answer.status}`);
      return String(answer.body.event_id);
    }, 120_000);
  }
}
