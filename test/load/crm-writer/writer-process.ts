import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { answersOk, eventually } from '#testkit';

export interface WriterPlace {
  /** Has the site file and the secrets; its log is written there. */
  folder: string;
  databaseUrl: string;
  brokers: string;
  vaultPort: number;
}

/** A crm-writer process as a benchmark sees it. */
export class WriterProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly internalUrl: string,
  ) {}

  /** Returns when the process is there, ready or not. */
  static async start({ folder, databaseUrl, brokers, vaultPort }: WriterPlace): Promise<WriterProcess> {
    const root = process.cwd();
    const internalPort = await freePort();
    const log = openSync(join(folder, 'writer.log'), 'a');
    const args = process.env.BENCH_PROFILE ? ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_PROFILE}`] : [];
    const child = spawn(process.execPath, [...args, join(root, 'dist', 'apps', 'crm-writer', 'src', 'main.js')], {
      stdio: ['ignore', log, 'inherit'],
      env: {
        ...process.env,
        LD_SITE_FILE: join(folder, 'site.yaml'),
        LD_SECRETS_DIR: join(folder, 'secrets'),
        DATABASE_URL: databaseUrl,
        KAFKA_BROKERS: brokers,
        INTERNAL_PORT: String(internalPort),
        INTERNAL_URLS: JSON.stringify({ intake: `http://127.0.0.1:${vaultPort}` }),
      },
    });
    return new WriterProcess(child, `http://127.0.0.1:${internalPort}`);
  }

  async ready(): Promise<void> {
    await eventually('the crm-writer to be ready', () => answersOk(`${this.internalUrl}/health/ready`), { timeoutMs: 60_000 });
  }

  /** CPU seconds so far, user and system. */
  cpuSeconds(): number {
    return cpuSecondsOf(this.child);
  }

  /** Resident memory in MB. */
  residentMb(): number {
    const [, pages] = readFileSync(`/proc/${this.child.pid}/statm`, 'utf8').split(' ');
    return (Number(pages) * 4_096) / 1_048_576;
  }

  /** Deliveries that its sweeper has woken, for any reason. */
  async sweeperWakeups(): Promise<number> {
    const text = await (await fetch(`${this.internalUrl}/metrics`)).text();
    if (!text.includes('# TYPE leads_sweeper_wakeups_total')) throw new Error('the crm-writer does not say what its sweeper woke');
    const counts = [...text.matchAll(/^leads_sweeper_wakeups_total\{[^}]*\} (\d+)$/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** Ends it in order. */
  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    await once(this.child, 'exit');
  }
}

/** CPU seconds of a process with all its threads, user and system. */
export function cpuSecondsOf({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
