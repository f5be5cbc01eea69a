import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** Starts the shared Kafka, registry and PostgreSQL when they do not run yet; this test run then owns them and stops them at its end. */
export default function startInfrastructure(): void {
  // Jest loads this file before its own module mapping is in place, so it works on built files through commands.
  run('scripts/build.mjs');
  const keep = process.env.LD_TEST_KEEP === '1';
  run('dist/scripts/test-infra.js', 'up', ...(keep ? [] : ['--owner', String(process.pid)]));
}

function run(...args: string[]): void {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with code ${status}`);
}
