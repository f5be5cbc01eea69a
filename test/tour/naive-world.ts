import { join } from 'node:path';
import {
  cacheDir,
  eventually,
  freePortRange,
  type NaiveProcess,
  openTcpProxy,
  pause,
  projectRoot,
  type RunningProgram,
  startNaive,
  startProgram,
  stopProcess,
  type TcpProxy,
  uniqueName,
} from '#testkit';
import { ask, CrmWitness } from './crm-witness.js';
import { leadBody } from './lead-body.js';
import { routes } from './leads.js';
import { SharedKill } from './shared-kill.js';
import { openTlsDoor } from './tls-door.js';
import type { BalanceReport, CrmName, IntakeAnswer, Journey, Lead, NewLead, RecordedCall, TlsDoor, World } from './world.js';

interface Parts {
  sandbox: RunningProgram;
  sandboxUrl: string;
  naive: NaiveProcess;
  door: TcpProxy;
  tls: TlsDoor;
}

/** A sandbox, and in place of lead delivery a writer that retries until it succeeds. */
export async function openNaiveWorld(crashRows: readonly string[]): Promise<World> {
  const base = await freePortRange(16);
  const sandboxUrl = `http://127.0.0.1:${base + 1}`;
  const logs = cacheDir('tour', uniqueName('naive'));
  const sandbox = await startSandbox(base, join(logs, 'sandbox.log'));
  const door = await openTcpProxy({ target: { port: base + 1 }, port: base + 8 });
  const tls = await openTlsDoor(base + 9);
  const urls: Record<keyof typeof routes, string> = {
    contact: `${sandboxUrl}/crm`,
    'tour-nobody': `${sandboxUrl}/crm`,
    'tour-crm': `${sandboxUrl}/crm-tour`,
    'tour-door': `http://127.0.0.1:${base + 8}/crm-door`,
    'tour-blind': `${sandboxUrl}/crm-blind`,
    'tour-tls': `https://127.0.0.1:${base + 9}`,
    'tour-dns': 'https://crm.invalid',
  };
  const naive = await startNaive(
    {
      port: base,
      routes: Object.fromEntries(
        Object.entries(routes).map(([form, { destination }]) => [form, { destination, url: urls[form as keyof typeof urls] }]),
      ),
      chatUrl: `${sandboxUrl}/chat/bot1:naive/sendMessage`,
      timeoutMs: 3_000,
      pauseMs: 200,
    },
    join(logs, 'naive-writer.log'),
  );
  return new NaiveWorld({ sandbox, sandboxUrl, naive, door, tls }, crashRows);
}

async function startSandbox(base: number, logFile: string): Promise<RunningProgram> {
  const url = `http://127.0.0.1:${base + 1}/crm/stats`;
  const ready = () => ask(url).then(() => true);
  const running = await startProgram({
    name: 'sandbox',
    command: process.execPath,
    args: [join(projectRoot(), 'dist', 'apps', 'sandbox', 'src', 'main.js')],
    env: { HTTP_HOST: '127.0.0.1', HTTP_PORT: String(base + 1), INTERNAL_HOST: '127.0.0.1', INTERNAL_PORT: String(base + 14) },
    logFile,
    stopSignal: 'SIGTERM',
    stopGraceMs: 5_000,
    ready,
  });
  await eventually('the sandbox to answer', ready);
  return running;
}

/** What a naive writer has nothing of. */
const without = (what: string): Promise<never> => Promise.reject(new Error(`the naive writer has no ${what}`));

class NaiveWorld implements World {
  readonly against = 'naive';
  /** Its retries come every 200 ms: what it has not done by then it never does. */
  readonly patienceMs = 8_000;
  readonly run = `n${Date.now().toString(36)}`;
  readonly accepted: (Lead & { sent: NewLead })[] = [];
  private readonly sharedKill: SharedKill;

  constructor(
    private readonly parts: Parts,
    crashRows: readonly string[],
  ) {
    this.sharedKill = new SharedKill(crashRows, async () => void process.kill(parts.naive.pid, 'SIGKILL'));
  }

  get door(): TcpProxy {
    return this.parts.door;
  }

  async post(lead: NewLead): Promise<IntakeAnswer> {
    const answer = await fetch(`${this.parts.naive.url}/v1/leads`, { method: 'POST', body: JSON.stringify(leadBody(lead)) });
    const body = (await answer.json()) as Record<string, unknown>;
    this.accepted.push({ eventId: String(body.event_id), leadRef: String(body.lead_ref), sourceEventId: lead.sourceEventId, sent: lead });
    return { status: answer.status, headers: answer.headers, body };
  }

  async journey(by: { eventId: string } | { sourceEventId: string }): Promise<Journey | undefined> {
    const path = 'eventId' in by ? `/v1/leads/${by.eventId}` : `/v1/leads?source_event_id=${encodeURIComponent(by.sourceEventId)}`;
    return ask<Journey>(`${this.parts.naive.url}${path}`).catch(() => undefined);
  }

  crm(name: CrmName): CrmWitness {
    return new CrmWitness(`${this.parts.sandboxUrl}/${name === 'crm' ? 'crm' : `crm-${name}`}`);
  }

  async messages(leadRef: string): Promise<number> {
    const all = await ask<{ text: string }[]>(`${this.parts.sandboxUrl}/chat/messages`);
    return all.filter(({ text }) => text.includes(leadRef)).length;
  }

  async recordedCalls(eventId: string): Promise<RecordedCall[]> {
    const lead = await ask<{ calls: RecordedCall[] }>(`${this.parts.naive.url}/v1/leads/${eventId}`);
    return lead.calls;
  }

  deadLetter(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  overdueWakeUps = () => without('sweeper');
  approveReplay = () => without('dead letters to replay');
  produce = () => without('topic');
  refusals = () => without('topic');
  recordsOn = () => without('topic');
  deleteRecords = () => without('topic');
  repeatLastRecord = () => without('topic');
  encode = () => Buffer.alloc(0);

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
    const { pid } = this.parts.naive;
    process.kill(pid, 'SIGSTOP');
    try {
      await pause(ms);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }

  compare(): Promise<void> {
    return Promise.resolve();
  }

  differences(): Promise<string[]> {
    return Promise.resolve([]);
  }

  balance(): Promise<BalanceReport> {
    return Promise.resolve({ balanced: false, summary: 'a naive writer keeps no books' });
  }

  async close(): Promise<void> {
    const { naive, sandbox, door, tls } = this.parts;
    await naive.stop();
    await Promise.allSettled([door.close(), tls.close(), stopProcess(sandbox.identity, 'SIGTERM', 5_000)]);
  }
}
