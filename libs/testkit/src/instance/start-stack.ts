import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { InfraPart } from '../infra/embedded.js';
import { readJsonFile } from '../json-file.js';
import { identify, isRunning, type ProcessIdentity } from '../process/identity.js';
import { freePortRange } from '../process/ports.js';
import { stopProcess } from '../process/program.js';
import { eventually, pause } from '../process/wait.js';
import { cacheDir, projectRoot } from '../project-root.js';
import { uniqueName } from '../unique.js';
import { infraAnswers } from './infra-answers.js';
import { type Endpoints, type RecordedChild, type RunState, runPaths } from './run-dir.js';

export interface StackOptions {
  /** Default: a new one under .cache/stacks, removed by `stop` unless LD_TEST_KEEP=1. */
  runDir?: string;
  /** Default: a free row of ports. */
  portBase?: number;
  /** Added to the environment of the launcher, and so to that of every service. */
  env?: Record<string, string>;
  /** Site file; default config/demo.yaml. */
  config?: string;
}

/** A whole instance, started as `npm start -- --no-samples --detach` starts it. */
export interface Stack {
  readonly runDir: string;
  /** Process of the launcher, parent of all others. */
  readonly supervisorPid: number;
  /** Read anew: pids change with every restart of a service. */
  endpoints(): Endpoints;
  /** Waits until the app's readiness is green. */
  ready(app: string, timeoutMs?: number): Promise<void>;
  /** Sends the signal and waits until that process has ended; the launcher starts another. */
  kill(app: string, signal?: NodeJS.Signals): Promise<void>;
  /** Kills a part of the infrastructure and waits until the one that the launcher starts instead answers. */
  restartInfra(part: InfraPart, signal?: NodeJS.Signals): Promise<void>;
  /** Stops a part and keeps it down until `startInfra`. */
  stopInfra(part: InfraPart): Promise<void>;
  startInfra(part: InfraPart): Promise<void>;
  /** Has a part, its child processes included, stand still for `ms`: connections stay open, and nothing on them is answered. */
  freezeInfra(part: InfraPart, ms: number): Promise<void>;
  /** Stops the instance; its launcher must have left nothing behind. `lookBack` is called once all has ended, before anything is removed. */
  stop(lookBack?: () => Promise<void>): Promise<void>;
}

const run = promisify(execFile);
const startLimitMs = 300_000;
/** Longer than the longest restart pause of the launcher and the slowest start of a part. */
const restartLimitMs = 120_000;

/** Starts a whole instance on infrastructure of its own. Ends with this process, even when that is killed. Throws with the launcher's words when it does not come up. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const runDir = options.runDir ?? cacheDir('stacks', uniqueName('stack'));
  const portBase = options.portBase ?? (await freePortRange(16));
  mkdirSync(runDir, { recursive: true });
  const args = ['--no-samples', '--detach', '--run-dir', runDir, '--port-base', String(portBase)];
  if (options.config !== undefined) args.push('--config', options.config);
  await command('start', args, { ...stackEnvironment(), ...options.env });
  return new RunningStack(runDir, options.runDir === undefined && process.env.LD_TEST_KEEP !== '1');
}

/** Without connections to anything that runs elsewhere. */
function stackEnvironment(): NodeJS.ProcessEnv {
  const { KAFKA_BROKERS: _brokers, SCHEMA_REGISTRY_URL: _registry, DATABASE_URL: _database, ...rest } = process.env;
  return { ...rest, LD_INFRA: 'embedded', LD_STOP_WITH_PID: String(process.pid) };
}

async function command(script: 'start' | 'stop' | 'reset', args: string[], env = process.env): Promise<void> {
  const file = join(projectRoot(), 'dist', 'scripts', `${script}.js`);
  await run(process.execPath, [file, ...args], { cwd: projectRoot(), env, timeout: startLimitMs }).catch(
    (error: Error & { stderr?: string; stdout?: string }) => {
      throw new Error(`${script} failed: ${error.stderr || error.stdout || error.message}`);
    },
  );
}

class RunningStack implements Stack {
  constructor(
    readonly runDir: string,
    private readonly temporary: boolean,
  ) {}

  get supervisorPid(): number {
    const launcher = readJsonFile<ProcessIdentity>(runPaths(this.runDir).lock);
    if (launcher === undefined) throw new Error(`no instance runs in ${this.runDir}`);
    return launcher.pid;
  }

  endpoints(): Endpoints {
    const endpoints = readJsonFile<Endpoints>(runPaths(this.runDir).endpoints);
    if (endpoints === undefined) throw new Error(`no instance runs in ${this.runDir}`);
    return endpoints;
  }

  async ready(app: string, timeoutMs = restartLimitMs): Promise<void> {
    await eventually(
      `${app} to be ready`,
      async () => {
        const answer = await fetch(`${this.endpoints().internal[app]}/health/ready`, { signal: AbortSignal.timeout(2_000) });
        if (answer.ok) return true;
        throw new Error(await answer.text());
      },
      { timeoutMs },
    );
  }

  async kill(app: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const pid = this.endpoints().pids[app];
    const identity = pid === undefined ? undefined : identify(pid);
    if (identity === undefined) throw new Error(`${app} does not run`);
    await end(identity, signal);
  }

  async restartInfra(part: InfraPart, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { identity } = this.child(part);
    await end(identity, signal);
    await this.answers(part, identity);
  }

  async stopInfra(part: InfraPart): Promise<void> {
    writeFileSync(join(runPaths(this.runDir).hold, part), '');
    const { identity, stopSignal, stopGraceMs } = this.child(part);
    await stopProcess(identity, stopSignal, stopGraceMs);
  }

  async startInfra(part: InfraPart): Promise<void> {
    const { identity } = this.child(part);
    rmSync(join(runPaths(this.runDir).hold, part), { force: true });
    await this.answers(part, identity);
  }

  async freezeInfra(part: InfraPart, ms: number): Promise<void> {
    const { pid } = this.child(part).identity;
    // The parent first: one that stands still has no more children.
    process.kill(pid, 'SIGSTOP');
    const children = await childrenOf(pid);
    for (const child of children) signalIfThere(child, 'SIGSTOP');
    await pause(ms);
    for (const each of [...children, pid]) signalIfThere(each, 'SIGCONT');
  }

  async stop(lookBack?: () => Promise<void>): Promise<void> {
    const toThis = ['--run-dir', this.runDir];
    if (lookBack !== undefined) await command('stop', toThis);
    try {
      await lookBack?.();
    } finally {
      if (this.temporary) await command('reset', toThis);
      else if (lookBack === undefined) await command('stop', toThis);
    }
  }

  private child(name: string): RecordedChild {
    const child = readJsonFile<RunState>(runPaths(this.runDir).state)?.children.find((one) => one.name === name);
    if (child === undefined) throw new Error(`${name} was not started in ${this.runDir}`);
    return child;
  }

  private async answers(part: InfraPart, before: ProcessIdentity): Promise<void> {
    const replaced = (): boolean => this.child(part).identity.startMark !== before.startMark;
    await eventually(`another ${part} to answer`, async () => replaced() && (await infraAnswers(part, this.endpoints())), {
      timeoutMs: restartLimitMs,
      everyMs: 200,
    });
  }
}

async function end(identity: ProcessIdentity, signal: NodeJS.Signals): Promise<void> {
  process.kill(identity.pid, signal);
  await eventually(`process ${identity.pid} to end`, () => !isRunning(identity), { everyMs: 5 });
}

async function childrenOf(pid: number): Promise<number[]> {
  // Exit code 1: it has none.
  const { stdout } = await run('pgrep', ['-P', String(pid)]).catch((error: Error & { code?: number }) => {
    if (error.code === 1) return { stdout: '' };
    throw error;
  });
  return stdout.split('\n').filter(Boolean).map(Number);
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
