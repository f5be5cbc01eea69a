import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Builds before tests that start the built programs. */
export default function build(): void {
  const root = join(import.meta.dirname, '..', '..');
  const { status } = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`scripts/build.mjs ended with code ${status}`);
}
