// `npm start`: see launcher/options.ts for its options. Runs until Ctrl-C, or with --detach until `npm stop`.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { identify, isRunning, projectRoot, runPaths } from '#testkit';
import { Instance } from './launcher/launch.js';
import { type StartOptions, startOptions, UsageError } from './launcher/options.js';
import { type LauncherMessage, sayTo, tellParent } from './launcher/say.js';
import { Stopped } from './launcher/supervised.js';

const root = projectRoot();
/**
 * Ctrl-C comes twice where `sh` is bash: the terminal signals all of its programs, and npm passes what it got on. A second signal within this time
 * is the same press.
 */
const samePressMs = 1_000;

async function runHere(options: StartOptions): Promise<void> {
  const say = sayTo();
  const instance = new Instance(options, root, say);
  let stopping: Promise<void> | undefined;
  let firstMs = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping !== undefined) {
      if (performance.now() - firstMs < samePressMs) return;
      instance.kill();
      process.exit(1);
    }
    firstMs = performance.now();
    say(`\n${signal}: stopping (again: at once)`);
    stopping = instance.stop().then(
      () => {
        say('Stopped');
        process.exit(0);
      },
      (error: Error) => failed(error.message),
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  process.on('uncaughtException', (error) => {
    void instance.stop().finally(() => failed(error.stack ?? error.message));
  });
  stopWith(process.env.LD_STOP_WITH_PID, () => process.kill(process.pid, 'SIGTERM'));
  try {
    await instance.start();
    if (options.samples) await instance.showSamples();
    say(process.send === undefined ? 'Running until Ctrl-C' : `Running until \`npm stop -- --run-dir ${options.runDir}\``);
    await tellParent({ ready: true });
    // Children keep this process alive; the parent's channel must not.
    if (process.connected) process.disconnect();
  } catch (error) {
    if (stopping !== undefined || error instanceof Stopped) return stopping;
    await instance.stop();
    await failed((error as Error).message);
  }
}

/** Calls `stop` once the process with this pid has ended: an instance that a test started must not outlive it. */
function stopWith(pid: string | undefined, stop: () => void): void {
  const owner = pid === undefined ? undefined : identify(Number(pid));
  if (owner === undefined) return;
  const watch = setInterval(() => {
    if (isRunning(owner)) return;
    clearInterval(watch);
    stop();
  }, 2_000);
}

/** Starts a launcher of its own session, shows what it says, and ends once that one is ready. */
function runDetached(options: StartOptions): Promise<void> {
  const { logs } = runPaths(options.runDir);
  mkdirSync(logs, { recursive: true });
  const log = openSync(join(logs, 'launcher.log'), 'a');
  const args = process.argv.slice(2).filter((argument) => argument !== '--detach');
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...args], {
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.on('message', (message: LauncherMessage) => {
      if ('line' in message) console.log(message.line);
      else if ('failure' in message) console.error(message.failure);
      else {
        child.unref();
        resolve();
        process.exit(0);
      }
    });
    child.once('exit', (code) => process.exit(code ?? 1));
  });
}

async function failed(reason: string): Promise<never> {
  const failure = `\nNot started: ${reason}`;
  console.error(failure);
  await tellParent({ failure });
  process.exit(1);
}

// Whoever read our output has gone (`npm start | head`): that is no reason to leave the children alone.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
try {
  const options = startOptions(process.argv.slice(2), root);
  await (options.detach ? runDetached(options) : runHere(options));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
