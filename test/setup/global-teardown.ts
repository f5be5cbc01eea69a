import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Stops the shared infrastructure when this test run started it. Left running: one started by hand, and with LD_TEST_KEEP=1. */
export default function stopInfrastructure({ maxWorkers }: { maxWorkers: number }): void {
  for (let worker = 1; worker <= maxWorkers; worker++) {
    spawnSync(process.execPath, ['dist/scripts/test-infra.js', 'down', '--owner', String(process.pid)], {
      cwd: join(import.meta.dirname, '..', '..'),
      env: { ...process.env, JEST_WORKER_ID: String(worker) },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  }
}
