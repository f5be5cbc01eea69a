import { linkSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { identify, isRunning, type ProcessIdentity, readJsonFile, stopProcess, writeJsonFile } from '#testkit';

/** A child as the next start or `npm stop` finds it again when the launcher is gone. Listed in the order of starting. */
export interface RecordedChild {
  name: string;
  identity: ProcessIdentity;
  stopSignal: NodeJS.Signals;
  stopGraceMs: number;
}

export interface RunState {
  portBase: number;
  children: RecordedChild[];
  /** Project name of the compose infrastructure, when that is used. */
  composeProject?: string;
}

export const paths = (runDir: string) => ({
  lock: join(runDir, 'launcher.json'),
  state: join(runDir, 'state.json'),
  endpoints: join(runDir, 'endpoints.json'),
  logs: join(runDir, 'logs'),
  data: join(runDir, 'data'),
  secrets: join(runDir, 'secrets'),
  /** A file `hold/NAME` keeps the launcher from starting child NAME again until the file is gone. */
  hold: join(runDir, 'hold'),
});

/** The launcher that works in this directory, undefined when none does. */
export function runningLauncher(runDir: string): ProcessIdentity | undefined {
  const launcher = readJsonFile<ProcessIdentity>(paths(runDir).lock);
  return launcher !== undefined && isRunning(launcher) ? launcher : undefined;
}

/**
 * Makes this process the one launcher of the directory, and stops what a launcher that was killed left behind.
 * Throws when another one works there.
 */
export async function claimRunDir(runDir: string): Promise<void> {
  const { lock, logs, endpoints } = paths(runDir);
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
  rmSync(endpoints, { force: true });
}

export function releaseRunDir(runDir: string): void {
  rmSync(paths(runDir).lock, { force: true });
}

/** Stops every recorded child that still runs, last started first. A pid that was given to another process is left alone. */
export async function stopRecordedChildren(runDir: string): Promise<number> {
  const children = (readJsonFile<RunState>(paths(runDir).state)?.children ?? []).filter(({ identity }) => isRunning(identity));
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
