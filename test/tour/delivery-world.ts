import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Endpoints, openTcpProxy, pause, projectRoot, readJsonFile, runPaths, type TcpProxy } from '#testkit';
import { submitted, UpstreamProducer } from '../support/traffic.js';
import { ask, CrmWitness } from './crm-witness.js';
import { KafkaHands } from './kafka-hands.js';
import { contactOf, leadBody } from './lead-body.js';
import { reaches } from './leads.js';
import { SharedKill } from './shared-kill.js';
import { openTlsDoor } from './tls-door.js';
import type { BalanceReport, CrmName, IntakeAnswer, Journey, Lead, NewLead, RecordedCall, TlsDoor, World } from './world.js';

const run = promisify(execFile);

const mostPostsAgain = 5;

interface Parts {
  runDir: string;
  door: TcpProxy;
  tls: TlsDoor;
  kafka: KafkaHands;
  upstream: UpstreamProducer;
  tokens: Record<string, string>;
}

/** Opens the doors of the tour beside the instance of a run directory. Throws when none runs there, or another tour does. */
export async function openDeliveryWorld(runDir: string, crashRows: readonly string[]): Promise<World> {
  const endpoints = endpointsIn(runDir);
  const tokens = JSON.parse(readFileSync(join(runPaths(runDir).secrets, 'internal-tokens.json'), 'utf8')) as Record<string, string>;
  const door = await openTcpProxy({ target: { port: Number(new URL(endpoints.sandboxCrm).port) }, port: endpoints.tourPorts.door });
  const [tls, kafka, upstream] = await Promise.all([
    openTlsDoor(endpoints.tourPorts.tls),
    KafkaHands.open(endpoints.kafkaBrokers),
    UpstreamProducer.connect(endpoints),
  ]);
  return new DeliveryWorld({ runDir, door, tls, kafka, upstream, tokens }, crashRows);
}

function endpointsIn(runDir: string): Endpoints {
  const endpoints = readJsonFile<Endpoints>(runPaths(runDir).endpoints);
  if (endpoints === undefined) throw new Error(`no instance runs in ${runDir}: start one with npm start -- --run-dir ${runDir}`);
  return endpoints;
}

class DeliveryWorld implements World {
  readonly against = 'delivery';
  private readonly begunMs = Date.now();
  readonly run = `t${this.begunMs.toString(36)}`;
  readonly accepted: (Lead & { sent: NewLead })[] = [];
  private readonly sharedKill: SharedKill;

  constructor(
    private readonly parts: Parts,
    crashRows: readonly string[],
  ) {
    this.sharedKill = new SharedKill(crashRows, async () => void this.signalWriter('SIGKILL'));
  }

  get door(): TcpProxy {
    return this.parts.door;
  }

  /** As a website does: what could not be saved is sent again when the answer says so. */
  async post(lead: NewLead): Promise<IntakeAnswer> {
    const request = { method: 'POST', body: JSON.stringify(leadBody(lead)) };
    let answer = await this.intake('/v1/leads', request);
    for (let again = 0; answer.status === 503 && again < mostPostsAgain; again += 1) {
      await pause(Number(answer.headers.get('retry-after') ?? 1) * 1000);
      answer = await this.intake('/v1/leads', request);
    }
    const eventId = String(answer.body.event_id);
    if (answer.status === 202 && !this.accepted.some((one) => one.eventId === eventId)) {
      this.accepted.push({ eventId, leadRef: String(answer.body.lead_ref), sourceEventId: lead.sourceEventId, sent: lead });
    }
    return answer;
  }

  async journey(by: { eventId: string } | { sourceEventId: string }): Promise<Journey | undefined> {
    const path = 'eventId' in by ? `/v1/leads/${by.eventId}` : `/v1/leads?source_event_id=${encodeURIComponent(by.sourceEventId)}`;
    const { status, body } = await this.intake(path, {});
    if (status !== 200) return undefined;
    // Without the owner's word it shows what was last known, which is no reading.
    if ((body.unreachable as string[]).includes('crm-writer')) throw new Error('crm-writer did not answer intake in time');
    return body as unknown as Journey;
  }

  crm(name: CrmName): CrmWitness {
    const { sandboxCrm } = this.endpoints;
    return new CrmWitness(name === 'crm' ? sandboxCrm : `${sandboxCrm}-${name}`);
  }

  async messages(leadRef: string): Promise<number> {
    const all = await ask<{ text: string }[]>(`${this.endpoints.sandboxChat}/messages`);
    return all.filter(({ text }) => text.includes(leadRef)).length;
  }

  async recordedCalls(eventId: string, destination: string): Promise<RecordedCall[]> {
    const body = { items: [{ event_id: eventId, destination }] };
    const { items } = await this.internal<{ items: { attempts: RecordedCall[] }[] }>('crm-writer', '/internal/v1/deliveries:history', body);
    return items.flatMap(({ attempts }) => attempts);
  }

  async deadLetter(eventId: string): Promise<string | undefined> {
    const { items } = await this.operator<{ items: { event_id: string; class: string }[] }>('dead-letters:list', { event_ids: [eventId] });
    return items.find(({ event_id }) => event_id === eventId)?.class;
  }

  async approveReplay(eventId: string, destination: string): Promise<number> {
    const { approved } = await this.operator<{ approved: number }>('items:approve', {
      approver: 'ada',
      reason: 'failure tour',
      new_deadline: '4h',
      select: { destination, event_ids: [eventId] },
      max: 1,
    });
    return approved;
  }

  async produce(records: { key: string; value: Buffer }[]): Promise<void> {
    await this.parts.upstream.sendRaw(records);
  }

  encode(lead: NewLead, overrides: Record<string, unknown> = {}): Buffer {
    const { sourceEventId, form, campaign } = lead;
    const value = { ...submitted(sourceEventId, 0), form, campaign, contact: contactOf(lead), consent: { given: false, at: null } };
    return this.parts.upstream.encode({ ...value, ...overrides });
  }

  refusals(failureClass: string): Promise<number> {
    return Promise.resolve(this.parts.kafka.refusedAs(failureClass));
  }

  recordsOn(topic: string): Promise<number> {
    return this.parts.kafka.recordsOn(topic);
  }

  deleteRecords(topic: string): Promise<number> {
    return this.parts.kafka.deleteRecords(topic);
  }

  repeatLastRecord(topic: string, group: string): Promise<() => Promise<number>> {
    return this.parts.kafka.repeatLast(topic, group);
  }

  turnBeforeKill(row: string, lastsMs: number): Promise<void> {
    return this.sharedKill.turn(row, lastsMs);
  }

  killTogether(row: string): Promise<void> {
    return this.sharedKill.ready(row);
  }

  notComing(row: string): void {
    this.sharedKill.without(row);
  }

  async freezeWriter(ms: number): Promise<void> {
    const pid = this.signalWriter('SIGSTOP');
    try {
      await pause(ms);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }

  async overdueWakeUps(): Promise<number> {
    const page = await fetch(String(this.endpoints.metrics['crm-writer']), { signal: AbortSignal.timeout(10_000) });
    return Number(/^leads_sweeper_wakeups_total\{reason="overdue"\} (\d+)$/m.exec(await page.text())?.[1] ?? 0);
  }

  async compare(campaign: string, destination: string): Promise<void> {
    const window = { from: new Date(this.begunMs).toISOString(), to: new Date(Date.now() + 1).toISOString() };
    const asked = { destination, ...window, campaign, by: 'failure tour' };
    const { run_id: runId } = await this.internal<{ run_id: string }>('reconciler', '/internal/v1/reconcile/runs:start', asked);
    await reaches(
      'the end of a comparison',
      async () => {
        const { items } = await this.internal<{ items: { state: string }[] }>('reconciler', '/internal/v1/reconcile/runs:list', {
          ids: [runId],
        });
        return items.filter(({ state }) => state === 'finished').length;
      },
      1,
    );
  }

  async differences(eventId: string): Promise<string[]> {
    const { items } = await this.internal<{ items: { class: string }[] }>('reconciler', '/internal/v1/reconcile/discrepancies:list', {
      event_ids: [eventId],
    });
    return items.map((item) => item.class);
  }

  async balance(): Promise<BalanceReport> {
    const main = join(projectRoot(), 'dist', 'apps', 'leadctl', 'src', 'main.js');
    const args = [main, 'balance', '--json', '--run-dir', this.parts.runDir];
    const { stdout } = await run(process.execPath, args, { timeout: 60_000 }).catch(
      (error: Error & { stdout?: string; stderr?: string }) => {
        if (error.stdout) return { stdout: error.stdout };
        throw new Error(`leadctl balance failed: ${error.stderr || error.message}`);
      },
    );
    const report = JSON.parse(stdout) as { balanced: boolean; accepted: number; missing: unknown[]; incomplete: unknown[] };
    const named = report.missing.length + report.incomplete.length;
    return {
      balanced: report.balanced,
      summary: `${report.accepted} deliveries accepted, ${report.missing.length} found nowhere, ${named - report.missing.length} incomplete`,
    };
  }

  async close(): Promise<void> {
    const { door, tls, kafka, upstream } = this.parts;
    await Promise.allSettled([door.close(), tls.close(), kafka.close(), upstream.close()]);
  }

  /** Read anew: pids change with every restart of a service. */
  private get endpoints(): Endpoints {
    return endpointsIn(this.parts.runDir);
  }

  private signalWriter(signal: NodeJS.Signals): number {
    const pid = this.endpoints.pids['crm-writer'];
    if (pid === undefined) throw new Error('crm-writer does not run');
    process.kill(pid, signal);
    return pid;
  }

  private async intake(path: string, init: RequestInit): Promise<IntakeAnswer> {
    const { intake, sourceKey } = this.endpoints;
    const headers = { authorization: `Bearer ${sourceKey}`, 'content-type': 'application/json' };
    const answer = await fetch(`${intake}${path}`, { ...init, headers, signal: AbortSignal.timeout(15_000) });
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
  }

  private operator<T>(command: string, body: unknown): Promise<T> {
    return this.internal('operator', `/internal/v1/${command}`, body);
  }

  private internal<T>(service: string, path: string, body: unknown): Promise<T> {
    const caller = service === 'operator' ? 'leadctl' : 'operator';
    return ask<T>(`${this.endpoints.internal[service]}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.parts.tokens[caller]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }
}
