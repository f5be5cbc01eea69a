import { execFile } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePortRange, identify, isRunning, type ProcessIdentity, pause, stopProcess } from '#testkit';
import { type TrytonPlace, trytonPlace } from './tryton-place.js';
import { startDatabase, startServer, writeSettings } from './tryton-programs.js';
import { makeTemplate } from './tryton-template.js';

const run = promisify(execFile);

/** Of each command: one that hangs ends as one that failed. */
const inTime = { timeout: 8 * 60_000, killSignal: 'SIGKILL' } as const;

/** Tryton cannot be had on this machine: no Python 3 with venv, or no way to its packages. */
export class NoTryton extends Error {
  override readonly name = 'NoTryton';
}

/**
 * Installs Tryton and makes its template database, once per working copy; afterwards it returns at once. Another run that is at it is waited
 * for. @throws NoTryton
 */
export async function prepareTryton(progress: (line: string) => void): Promise<TrytonPlace> {
  const place = trytonPlace();
  if (existsSync(place.template)) return place;
  mkdirSync(place.dir, { recursive: true });
  await locked(place.lock, async () => {
    if (!existsSync(place.installed)) await install(place, progress);
    if (!existsSync(place.template)) await template(place, progress);
  });
  return place;
}

async function install({ venv, requirements, installed }: TrytonPlace, progress: (line: string) => void): Promise<void> {
  progress('Installing Tryton (100 MB, once)');
  rmSync(venv, { recursive: true, force: true });
  try {
    await run('python3', ['-m', 'venv', venv], inTime);
    await run(join(venv, 'bin', 'pip'), ['install', '--quiet', '--disable-pip-version-check', '--no-compile', '-r', requirements], inTime);
  } catch (error) {
    throw new NoTryton(`Tryton could not be installed: ${lastLine(error)}`);
  }
  writeFileSync(installed, '');
}

function lastLine(error: unknown): string {
  const { stderr = '', message = '', code, killed } = error as { stderr?: string; message?: string; code?: unknown; killed?: boolean };
  if (killed === true) return `it took longer than ${inTime.timeout / 60_000} minutes`;
  if (code === 'ENOENT') return 'there is no python3';
  return (stderr.trim() || message).split('\n').at(-1) ?? '';
}

async function template(place: TrytonPlace, progress: (line: string) => void): Promise<void> {
  progress('Making the template database of Tryton (once)');
  const dir = join(place.dir, 'template');
  rmSync(dir, { recursive: true, force: true });
  const postgresPort = await freePortRange(2);
  const database = await startDatabase({ dir, port: postgresPort });
  const options = { dir, postgresPort, port: postgresPort + 1 };
  const facts = await makeTemplate({
    place,
    url: database.url,
    settings: (name) => writeSettings({ ...options, database: name }),
    serve: (name) => startServer(place, { ...options, database: name }),
    serverPort: options.port,
  }).finally(() => stopProcess(database.identity, 'SIGINT', 20_000));
  writeFileSync(place.template, JSON.stringify({ ...facts, data: database.data }));
}

/** Runs alone on this machine. A holder that has gone counts for nothing. */
async function locked(file: string, work: () => Promise<void>): Promise<void> {
  const mine = `${file}.${process.pid}`;
  // Whole from the start: one that is half written looks like that of a holder who has gone.
  writeFileSync(mine, JSON.stringify(identify(process.pid)));
  try {
    while (!taken(mine, file)) {
      if (!holderRuns(file)) rmSync(file, { force: true });
      await pause(200);
    }
  } finally {
    rmSync(mine, { force: true });
  }
  await work().finally(() => rmSync(file, { force: true }));
}

function taken(mine: string, file: string): boolean {
  try {
    linkSync(mine, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

function holderRuns(file: string): boolean {
  try {
    return isRunning(JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity);
  } catch {
    return false;
  }
}
