import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Whole-stack tests bring their own infrastructure; the services they start are the built files, so those must be fresh. */
export default function buildServices(): void {
  const { status } = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: join(import.meta.dirname, '..', '..'), stdio: 'inherit' });
  if (status !== 0) throw new Error(`scripts/build.mjs ended with code ${status}`);
}
