import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CrashPoint } from '#runtime';
import { eventually, identify, runPaths, type Stack, writeJsonFile } from '#testkit';

const startLimitMs = 60_000;
const reachLimitMs = 90_000;

/**
 * Crashes of one app at named points. The app is started with LD_CRASH_AT, stands still there with all it has in hand, and is killed with
 * SIGKILL from outside; the launcher then starts it without.
 */
export class Crashes {
  private readonly logFile: string;
  /** End of the log when the app was last armed. */
  private from = 0;

  constructor(
    private readonly stack: Stack,
    private readonly app: string,
  ) {
    this.logFile = join(runPaths(stack.runDir).logs, `${app}.log`);
  }

  /** Starts the app anew so that it stops at the point; returns when the new process is there, ready or not. */
  async arm(point: CrashPoint, env: Record<string, string> = {}): Promise<void> {
    // The launcher may still be at starting the one that follows the last crash.
    await eventually(`${this.app} to run`, () => this.isRunning, { timeoutMs: startLimitMs });
    const once = this.prepare(point, env);
    await this.stack.kill(this.app, 'SIGTERM');
    await eventually(`${this.app} to be started anew`, () => !existsSync(once), { timeoutMs: startLimitMs });
  }

  /** Waits until the armed process stands at the point. */
  async reached(point: CrashPoint): Promise<void> {
    const isLine = (line: string): boolean => line.startsWith('{"crash_point"') && line.includes(`"${point}"`);
    const text = (): string => readFileSync(this.logFile).subarray(this.from).toString('utf8');
    await eventually(`${this.app} to stand at ${point}`, () => text().split('\n').some(isLine), { timeoutMs: reachLimitMs });
  }

  kill(): Promise<void> {
    return this.stack.kill(this.app, 'SIGKILL');
  }

  /** Kills the app where it stands, keeps it down for a while, and starts it armed with another point. */
  async killAndArm(point: CrashPoint, { downMs, env }: { downMs: number; env: Record<string, string> }): Promise<void> {
    const hold = join(runPaths(this.stack.runDir).hold, this.app);
    mkdirSync(runPaths(this.stack.runDir).hold, { recursive: true });
    writeFileSync(hold, '');
    const once = this.prepare(point, env);
    await this.kill();
    await new Promise((resolve) => setTimeout(resolve, downMs));
    rmSync(hold);
    await eventually(`${this.app} to be started anew`, () => !existsSync(once), { timeoutMs: startLimitMs });
  }

  private get isRunning(): boolean {
    const pid = this.stack.endpoints().pids[this.app];
    return pid !== undefined && identify(pid) !== undefined;
  }

  private prepare(point: CrashPoint, env: Record<string, string>): string {
    const once = join(runPaths(this.stack.runDir).once, this.app);
    this.from = statSync(this.logFile).size;
    writeJsonFile(once, { LD_CRASH_AT: point, ...env });
    return once;
  }
}
