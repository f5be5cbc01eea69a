import { linkSync, mkdirSync, rmSync } from 'node:fs';
import { identify, isRunning, type ProcessIdentity, type RunState, readJsonFile, runPaths, stopProcess, writeJsonFile } from '#testkit';

/** The launcher that works in this directory, undefined when none does. */
export function runningLauncher(runDir: string): ProcessIdentity | undefined {
  const launcher = readJsonFile<ProcessIdentity>(runPaths(runDir).lock);
  return launcher !== undefined && isRunning(launcher) ? launcher : undefined;
}

/**
 * Makes this process the one launcher of the directory, and stops what a launcher that was killed left behind.
 * Throws when another one works there.
 */
export async function claimRunDir(runDir: string): Promise<void> {
  const { lock, logs } = runPaths(runDir);
  mkdirSync(logs, { recursive: true });
  const mine = `${lock}.${process.pid}`;
  writeJsonFile(mine, identify(process.pid));
  try {
    while (!linked(mine, lock)) {
      const other = runningLauncher(runDir);
      if (other !== undefined) {
        throw new Error(`an instance already runs in ${runDir} (process ${other.pid}): stop it with \`npm stop -- --run-dir ${runDir}\``);
      }
      rmSync(lock, { force: true });
    }
  } finally {
    rmSync(mine, { force: true });
  }
  await stopRecordedChildren(runDir);
  forgetEndpoints(runDir);
}

/** Takes back what the directory says of a running instance: all of it has ended. */
export function forgetEndpoints(runDir: string): void {
  rmSync(runPaths(runDir).endpoints, { force: true });
}

/** Gives the directory back: another launcher may claim it. */
export function releaseRunDir(runDir: string): void {
  rmSync(runPaths(runDir).lock, { force: true });
}

/** Stops every recorded child that still runs, last started first. A pid that was given to another process is left alone. */
export async function stopRecordedChildren(runDir: string): Promise<number> {
  const children = (readJsonFile<RunState>(runPaths(runDir).state)?.children ?? []).filter(({ identity }) => isRunning(identity));
  for (const { identity, stopSignal, stopGraceMs } of children.reverse()) await stopProcess(identity, stopSignal, stopGraceMs);
  return children.length;
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** The state that the last launcher of a directory left. */
export const recordedState = (runDir: string): RunState | undefined => readJsonFile<RunState>(runPaths(runDir).state);
