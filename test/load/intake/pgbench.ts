import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** pgbench on the PATH or where Debian keeps it; undefined when it is not installed. */
export function findPgbench(): string | undefined {
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'pgbench'));
  return [...onPath, ...globSync('/usr/lib/postgresql/*/bin/pgbench').sort().reverse()].find((file) => existsSync(file));
}

interface PgbenchRun {
  pgbench: string;
  url: string;
  /** The statement, with :id where rows must differ. */
  script: string;
  clients: number;
  seconds: number;
}

/** Transactions per second of one script, prepared. Throws when pgbench fails. */
export function pgbenchRate({ pgbench, url, script, clients, seconds }: PgbenchRun): number {
  const file = join(mkdtempSync(join(tmpdir(), 'pgbench-')), 'script.sql');
  writeFileSync(file, `\\set id random(1, 9000000000000000000)\n${script.replaceAll('\n', ' ')};\n`);
  const options = ['-n', '-f', file, '-c', String(clients), '-j', '2', '-M', 'prepared', '-T', String(seconds), url];
  const { status, stdout, stderr } = spawnSync(pgbench, options, {
    encoding: 'utf8',
    env: { ...process.env, PGOPTIONS: '-c search_path=intake' },
  });
  const rate = /tps = ([\d.]+)/.exec(stdout)?.[1];
  if (status !== 0 || rate === undefined || /failed: [1-9]/.test(stdout)) throw new Error(`pgbench: ${stderr || stdout}`);
  return Number(rate);
}
