import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';

/** A PATH that holds nothing but a `docker`, if any. */
let path: string;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'docker-'));
});
afterEach(() => rmSync(path, { recursive: true }));

function docker(script: string): void {
  writeFileSync(join(path, 'docker'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(path, 'docker'), 0o755);
}

const usable = (env: Record<string, string> = {}): boolean =>
  spawnSync(process.execPath, [join(import.meta.dirname, 'docker-usable.mjs')], { env: { PATH: path, ...env } }).status === 0;

it('is usable where the compose plugin and an engine answer, unless the environment wants to go without', () => {
  docker('exit 0');
  expect(usable()).toBe(true);
  expect(usable({ LD_INFRA: 'embedded' })).toBe(false);
});

it('is not where the engine does not answer, the plugin is missing, or there is no docker', () => {
  expect(usable()).toBe(false);
  docker('test "$1" = compose');
  expect(usable()).toBe(false);
  docker('test "$1" = version');
  expect(usable()).toBe(false);
});
