import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, type Program, postgresUrl, preparePostgres, type RunningProgram, startProgram } from '#testkit';
import { postgresPassword, type TrytonPlace } from './tryton-place.js';

/** A PostgreSQL that need not survive the machine. */
export async function startDatabase(options: {
  dir: string;
  port: number;
  copyOf?: string;
}): Promise<RunningProgram & { data: string; url: string }> {
  const { dir, port, copyOf } = options;
  // PostgreSQL may run as another account: the folder is open for passing through.
  mkdirSync(dir, { recursive: true });
  const program = await preparePostgres({
    dir: join(dir, 'postgres'),
    port,
    password: postgresPassword,
    logFile: join(dir, 'postgres.log'),
    copyOf,
    sharedBuffersMb: 32,
  });
  const careless = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];
  const running = await started({ ...program, args: [...program.args, ...careless.flatMap((setting) => ['-c', setting])] });
  return { ...running, data: program.cwd ?? '', url: postgresUrl(port, postgresPassword, 'postgres') };
}

export interface ServerOptions {
  dir: string;
  postgresPort: number;
  port: number;
  database: string;
}

/** Writes the server's settings. */
export function writeSettings({ dir, postgresPort, port }: ServerOptions): string {
  const file = join(dir, 'trytond.conf');
  mkdirSync(dir, { recursive: true });
  const uri = postgresUrl(postgresPort, postgresPassword, '');
  writeFileSync(file, `[database]\nuri = ${uri}\n[web]\nlisten = 127.0.0.1:${port}\n[session]\ntimeout = 86400\nmax_attempt = 3\n`);
  return file;
}

/** Tryton itself, serving one database. */
export function startServer(place: TrytonPlace, options: ServerOptions): Promise<RunningProgram> {
  const settings = writeSettings(options);
  const { dir, port, database } = options;
  const url = `http://127.0.0.1:${port}/`;
  return started({
    name: 'trytond',
    command: join(place.venv, 'bin', 'trytond'),
    args: ['-c', settings, '-d', database],
    env: { PATH: process.env.PATH ?? '', LC_ALL: 'C.UTF-8' },
    cwd: dir,
    logFile: join(dir, 'trytond.log'),
    stopSignal: 'SIGTERM',
    stopGraceMs: 5_000,
    ready: async () => (await fetch(url, { method: 'OPTIONS', signal: AbortSignal.timeout(2_000) })).status === 204,
  });
}

async function started(program: Program): Promise<RunningProgram> {
  const running = await startProgram(program);
  await eventually(`${program.name} to answer (log: ${program.logFile})`, program.ready, { timeoutMs: 120_000 });
  return running;
}
