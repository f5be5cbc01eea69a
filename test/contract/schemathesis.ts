import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
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

/** What is there. */
export interface Seeded {
  /** Fields that belong together, by the first word of the path behind the version. */
  rows: Record<string, Record<string, unknown>[]>;
  /** What somebody has sent with success, by `METHOD /path/{parameter}`. */
  requests: Record<string, { path?: object; body?: object }>;
}

export interface SchemathesisRun {
  program: string;
  url: string;
  token: string;
  role: string;
  seconds: number;
  seed: number;
  seeded: Seeded;
}

export interface Attacked {
  /** Every check held. */
  ok: boolean;
  printed: string;
  /** Statuses that were answered, by `METHOD /path/{parameter}` of what was really asked; where that is no operation, of what it was derived from. */
  answers: ReadonlyMap<string, ReadonlySet<number>>;
}

/** Attacks every operation but the endless one as a role, half of the time on what is really there. */
export async function attack({ program, url, token, role, seconds, seed, seeded }: SchemathesisRun): Promise<Attacked> {
  const words = [
    ...['run', `${url}/openapi.json`, '--header', `Authorization: Bearer ${token}`, '--no-color'],
    ...['--checks', 'not_a_server_error,within_its_role', '--exclude-path', '/v1/live'],
    ...['--max-time', String(seconds), '--request-timeout', '20', '--seed', String(seed), '--generation-database', 'none'],
  ];
  const folder = mkdtempSync(join(tmpdir(), 'schemathesis-'));
  const noted = join(folder, 'answers.jsonl');
  writeFileSync(noted, '');
  const hooks = join(projectRoot(), 'test/contract/within-its-role.py');
  const env = { ...process.env, LD_ROLE: role, LD_SEEDED: JSON.stringify(seeded), LD_ANSWERS: noted, SCHEMATHESIS_HOOKS: hooks };
  return new Promise<Omit<Attacked, 'answers'>>((resolve) => {
    // Where it runs it leaves a folder of its own.
    const cwd = join(projectRoot(), '.cache');
    execFile(program, words, { cwd, env, maxBuffer: 64 * 1_024 * 1_024, timeout: (seconds + 120) * 1_000 }, (error, stdout, stderr) =>
      resolve({ ok: error === null, printed: `${stdout}\n${stderr}` }),
    );
  })
    .then((result) => ({ ...result, answers: readAnswers(noted) }))
    .finally(() => rmSync(folder, { recursive: true }));
}

function readAnswers(file: string): Map<string, Set<number>> {
  const answers = new Map<string, Set<number>>();
  for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
    const [operation, status] = JSON.parse(line) as [string, number];
    answers.set(operation, (answers.get(operation) ?? new Set()).add(status));
  }
  return answers;
}
