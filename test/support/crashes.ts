import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CrashPoint } from '#runtime';
import { eventually, identify, pause, runPaths, type Stack } from '#testkit';
import { restartWith } from './restart-with.js';

const startLimitMs = 60_000;
const reachLimitMs = 60_000;

export interface Armed {
  point: CrashPoint;
  /** The how manieth time it is reached; default 1. */
  time?: number;
  env?: Record<string, string>;
  /** How long the app stays down before it is started armed; default: not at all. */
  downMs?: number;
}

/**
 * Crashes of one app at named points. The app is started with LD_CRASH_AT, stands still there with all it has in hand, and is killed with
 * SIGKILL from outside; the launcher then starts it without, or armed for the next one.
 */
export class Crashes {
  private readonly logFile: string;
  /** End of the log when the app was last armed. */
  private from = 0;
  private armed = false;

  constructor(
    private readonly stack: Stack,
    private readonly app: string,
  ) {
    this.logFile = join(runPaths(stack.runDir).logs, `${app}.log`);
  }

  /** Starts the app anew so that it stops at the point, and kills it where it stands still; returns when the new process is there, ready or not. */
  async arm({ point, time = 1, env, downMs = 0 }: Armed): Promise<void> {
    // The launcher may still be at starting the one that follows the last crash.
    await eventually(`${this.app} to run`, () => this.isRunning, { timeoutMs: startLimitMs });
    await restartWith(this.stack, {
      app: this.app,
      signal: this.armed ? 'SIGKILL' : 'SIGTERM',
      env: { LD_CRASH_AT: `${point}:${time}`, ...env },
      whileDown: () => {
        this.from = statSync(this.logFile).size;
        this.armed = true;
        return pause(downMs);
      },
    });
  }

  /** Waits until the armed process stands at the point. */
  async reached(point: CrashPoint): Promise<void> {
    const isLine = (line: string): boolean => line.startsWith('{"crash_point"') && line.includes(`"${point}"`);
    const text = (): string => readFileSync(this.logFile).subarray(this.from).toString('utf8');
    await eventually(`${this.app} to stand at ${point}`, () => text().split('\n').some(isLine), { timeoutMs: reachLimitMs });
  }

  /** Kills the armed process, if there is one, wherever it stands; the launcher starts one that is not. */
  async disarm(): Promise<void> {
    if (!this.armed) return;
    await this.stack.kill(this.app, 'SIGKILL');
    this.armed = false;
  }

  private get isRunning(): boolean {
    const pid = this.stack.endpoints().pids[this.app];
    return pid !== undefined && identify(pid) !== undefined;
  }
}
