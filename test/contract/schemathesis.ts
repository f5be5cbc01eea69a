import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '#testkit';

const run = promisify(execFile);
const version = '4.32.5';

/** The program, installed once into the cache of this working copy. */
export async function installSchemathesis(): Promise<string> {
  const folder = join(projectRoot(), '.cache', `schemathesis-${version}`);
  const program = join(folder, 'bin', 'schemathesis');
  if (existsSync(program)) return program;
  await run('python3', ['-m', 'venv', folder]);
  await run(join(folder, 'bin', 'pip'), ['install', '--quiet', '--disable-pip-version-check', `schemathesis==${version}`]);
  return program;
}

export interface SchemathesisRun {
  program: string;
  url: string;
  token: string;
  role: string;
  seconds: number;
  seed: number;
}

/** Attacks every operation but the endless one as a role. Gives what it printed, and whether every check held. */
export async function attack({ program, url, token, role, seconds, seed }: SchemathesisRun): Promise<{ ok: boolean; printed: string }> {
  const words = [
    ...['run', `${url}/openapi.json`, '--header', `Authorization: Bearer ${token}`, '--no-color'],
    ...['--checks', 'not_a_server_error,within_its_role', '--exclude-path', '/v1/live'],
    ...['--max-time', String(seconds), '--request-timeout', '20', '--seed', String(seed), '--generation-database', 'none'],
  ];
  const env = { ...process.env, LD_ROLE: role, SCHEMATHESIS_HOOKS: join(projectRoot(), 'test/contract/within-its-role.py') };
  return new Promise((resolve) => {
    // Where it runs it leaves a folder of its own.
    const cwd = join(projectRoot(), '.cache');
    execFile(program, words, { cwd, env, maxBuffer: 64 * 1_024 * 1_024, timeout: (seconds + 120) * 1_000 }, (error, stdout, stderr) =>
      resolve({ ok: error === null, printed: `${stdout}\n${stderr}` }),
    );
  });
}
