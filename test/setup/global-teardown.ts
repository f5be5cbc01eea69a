import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Stops the shared infrastructure when this test run started it. Left running: one started by hand, and with LD_TEST_KEEP=1. */
export default function stopInfrastructure(): void {
  spawnSync(process.execPath, ['dist/scripts/test-infra.js', 'down', '--owner', String(process.pid)], {
    cwd: join(import.meta.dirname, '..', '..'),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}
