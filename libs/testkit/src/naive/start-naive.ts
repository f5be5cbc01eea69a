import { join } from 'node:path';
import { type RunningProgram, startProgram, stopProcess } from '../process/program.js';
import { eventually, pause } from '../process/wait.js';
import { projectRoot } from '../project-root.js';
import type { NaiveSettings } from './naive-writer.js';

export interface NaiveProcess {
  /** Base URL of its `/v1/leads`. */
  readonly url: string;
  /** Of the process that runs now: it is started again whenever it ends. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts the naive writer as a process that is started again, with nothing in its memory, whenever it ends. */
export async function startNaive(settings: NaiveSettings, logFile: string): Promise<NaiveProcess> {
  const keeper = new NaiveKeeper(settings, logFile);
  await keeper.start();
  return keeper;
}

class NaiveKeeper implements NaiveProcess {
  readonly url: string;
  private running: RunningProgram | undefined;
  private stopping = false;

  constructor(
    private readonly settings: NaiveSettings,
    private readonly logFile: string,
  ) {
    this.url = `http://127.0.0.1:${settings.port}`;
  }

  get pid(): number {
    if (this.running === undefined) throw new Error('the naive writer does not run');
    return this.running.identity.pid;
  }

  async start(): Promise<void> {
    const ready = () => answers(`${this.url}/v1/leads/none`);
    this.running = await startProgram({
      name: 'naive-writer',
      command: process.execPath,
      args: [join(projectRoot(), 'dist', 'libs', 'testkit', 'src', 'naive', 'naive-process.js'), JSON.stringify(this.settings)],
      env: {},
      logFile: this.logFile,
      stopSignal: 'SIGTERM',
      stopGraceMs: 1_000,
      ready,
    });
    this.running.child.once('exit', () => void this.again());
    await eventually('the naive writer to listen', ready);
  }

  async stop(): Promise<void> {
    this.stopping = true;
    if (this.running !== undefined) await stopProcess(this.running.identity, 'SIGKILL', 1_000);
  }

  private async again(): Promise<void> {
    await pause(250);
    // A start that fails shows in the rows that need it.
    if (!this.stopping) await this.start().catch(() => undefined);
  }
}

const answers = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
    () => true,
    () => false,
  );
