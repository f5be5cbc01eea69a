import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/**
 * Starts a shared Kafka, registry and PostgreSQL for each worker where they do not run yet; this test run then owns them and stops them at
 * its end.
 */
export default function startInfrastructure({ maxWorkers }: { maxWorkers: number }): void {
  // Jest loads this file before its own module mapping is in place, so it works on built files through commands.
  run(1, 'scripts/build.mjs');
  const keep = process.env.LD_TEST_KEEP === '1';
  const owner = keep ? [] : ['--owner', String(process.pid)];
  for (let worker = 1; worker <= maxWorkers; worker++) run(worker, 'dist/scripts/test-infra.js', 'up', ...owner);
}

function run(worker: number, ...args: string[]): void {
  const env = { ...process.env, JEST_WORKER_ID: String(worker) };
  const { status } = spawnSync(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with code ${status}`);
}
