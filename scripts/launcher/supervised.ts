import { closeSync, existsSync, fstatSync, openSync, readSync, rmSync } from 'node:fs';
import { isRunning, type Program, pause, type RunningProgram, readJsonFile, startProgram, stopProcess } from '#testkit';

/** Times in ms. */
const supervision = {
  /** Pause before a child is started again: this, doubled at each further end in a row. */
  firstPauseMs: 250,
  longestPauseMs: 10_000,
  /** A child that was ready and ran this long before it ended starts a new row. */
  soundMs: 10_000,
  /** How long a child may take to become ready. */
  readyMs: 120_000,
  /** Ends before it was ever ready after which the first start is given up. */
  firstStartTries: 3,
  /** Ends in a row after which its last words are shown. */
  troubleAfter: 4,
};

export interface Surround {
  say(line: string): void;
  /** Called whenever the process changed. */
  onChange(): void;
  /** While this file exists the child is not started again. */
  holdFile: string;
  /** Variables, as JSON, for the next start alone: the file is removed when it is read. */
  onceFile: string;
}

/** Thrown by starts that a stop overtook. */
export class Stopped extends Error {}

/** One child that is kept running: started, watched until ready, and started again with a growing pause whenever it ends. */
export class Supervised {
  private running: RunningProgram | undefined;
  private ended = false;
  private startedAt = 0;
  private wasReady = false;
  private endsInARow = 0;
  /** The first start has succeeded: from now on an end is followed by another start. */
  private kept = false;
  private stopping = false;

  constructor(
    readonly program: Program,
    private readonly surround: Surround,
  ) {}

  get process(): RunningProgram['identity'] | undefined {
    return this.running?.identity;
  }

  /** Starts the child for the first time and waits until it is ready. Throws, with its last words, when it does not get there. */
  async start(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      await this.launch();
      if (await this.becomesReady()) break;
      if (this.stopping) throw new Stopped();
      if (!this.ended) throw this.failure(`is not ready after ${supervision.readyMs / 1_000} s`);
      if (tries >= supervision.firstStartTries) throw this.failure(`ended ${tries} times before it was ready`);
      await pause(this.nextPauseMs());
    }
    this.kept = true;
    if (this.ended) void this.revive();
  }

  /** Asks the child to end and keeps it ended. */
  async stop(): Promise<void> {
    this.stopping = true;
    const { running, program } = this;
    if (running !== undefined) await stopProcess(running.identity, program.stopSignal, program.stopGraceMs);
  }

  /** Ends the child at once, without its leave. */
  kill(): void {
    this.stopping = true;
    const { running } = this;
    if (running !== undefined && isRunning(running.identity)) process.kill(-running.identity.pid, 'SIGKILL');
  }

  private async launch(): Promise<void> {
    if (this.stopping) throw new Stopped();
    const running = await startProgram({ ...this.program, env: { ...this.program.env, ...this.onceOnly() } });
    this.running = running;
    this.startedAt = performance.now();
    this.wasReady = false;
    this.ended = running.child.exitCode !== null || running.child.signalCode !== null;
    running.child.once('exit', () => {
      this.ended = true;
      if (this.kept) void this.revive();
    });
    this.surround.onChange();
    // A stop that came while the process was being made has not seen it.
    if (this.stopping) await this.stop();
  }

  private onceOnly(): Record<string, string> {
    const { onceFile } = this.surround;
    const env = readJsonFile<Record<string, string>>(onceFile);
    rmSync(onceFile, { force: true });
    return env ?? {};
  }

  /** True once ready; false when the child ended, was stopped or took too long. */
  private async becomesReady(): Promise<boolean> {
    const giveUpAt = performance.now() + supervision.readyMs;
    while (!this.stopping && !this.ended && performance.now() < giveUpAt) {
      const ready = await this.program.ready().catch(() => false);
      if (ready && !this.ended) {
        this.wasReady = true;
        return true;
      }
      await pause(150);
    }
    return false;
  }

  private async revive(): Promise<void> {
    if (this.stopping) return;
    const { name } = this.program;
    // An end that somebody prepared the next start for is no trouble.
    const prepared = existsSync(this.surround.onceFile);
    if (prepared || (this.wasReady && performance.now() - this.startedAt > supervision.soundMs)) this.endsInARow = 0;
    const waitMs = this.nextPauseMs();
    this.surround.say(`${name} ended (${this.howItEnded()}); starting it again in ${waitMs / 1_000} s`);
    if (this.endsInARow === supervision.troubleAfter) this.surround.say(this.failure('keeps ending; it is tried again and again').message);
    await pause(waitMs);
    while (existsSync(this.surround.holdFile) && !this.stopping) await pause(200);
    try {
      await this.launch();
    } catch (error) {
      if (error instanceof Stopped) return;
      this.surround.say(`${name} cannot be started: ${(error as Error).message}`);
      return this.revive();
    }
    if (await this.becomesReady()) this.surround.say(`${name} is ready again`);
    else if (!this.ended && !this.stopping) this.surround.say(`${name} runs again but is not ready yet`);
  }

  private nextPauseMs(): number {
    this.endsInARow += 1;
    return Math.min(supervision.firstPauseMs * 2 ** (this.endsInARow - 1), supervision.longestPauseMs);
  }

  private howItEnded(): string {
    const { exitCode, signalCode } = this.running?.child ?? {};
    return signalCode ? `signal ${signalCode}` : `code ${exitCode ?? 'unknown'}`;
  }

  private failure(what: string): Error {
    const { name, logFile } = this.program;
    return new Error(`${name} ${what}. Last lines of ${logFile}:\n${lastLines(logFile, 15)}`);
  }
}

/** The last lines of a file, read from its last 8 KiB; empty when there is none. */
export function lastLines(file: string, count: number): string {
  if (!existsSync(file)) return '';
  const handle = openSync(file, 'r');
  try {
    const { size } = fstatSync(handle);
    const buffer = Buffer.alloc(Math.min(size, 8_192));
    readSync(handle, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString('utf8').trimEnd().split('\n').slice(-count).join('\n');
  } finally {
    closeSync(handle);
  }
}
