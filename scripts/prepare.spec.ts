import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

/** A clone in which nothing was installed, on a machine whose PATH holds no program at all. */
let clone: string;

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), 'prepare-'));
  mkdirSync(join(clone, 'scripts'));
  for (const name of ['prepare', 'prerequisites', 'find-java', 'find-chromium', 'docker-usable']) {
    const file = join('scripts', `${name}.mjs`);
    cpSync(join(import.meta.dirname, '..', file), join(clone, file));
  }
});

afterAll(() => rmSync(clone, { recursive: true, force: true }));

const prepare = (env: Record<string, string>, ...args: string[]) =>
  spawnSync(process.execPath, [join(clone, 'scripts', 'prepare.mjs'), ...args], { encoding: 'utf8', env: { PATH: '/nowhere', ...env } });

it('names what is missing with what to install, and the ways around it', () => {
  const { status, stderr } = prepare({});
  expect(status).toBe(1);
  expect(stderr).toMatch(/Apache Maven 3\.8 or newer.*apt-get install maven/);
  expect(stderr).toContain('KAFKA_BROKERS, SCHEMA_REGISTRY_URL and DATABASE_URL');
});

it('asks for nothing that the environment names already', () => {
  const { stderr } = prepare({
    KAFKA_BROKERS: 'localhost:1',
    SCHEMA_REGISTRY_URL: 'http://localhost:2',
    DATABASE_URL: 'postgresql://localhost',
  });
  expect(stderr).not.toContain('Maven');
});

it('asks for it in spite of the environment where the tests start servers of their own', () => {
  const env = { KAFKA_BROKERS: 'localhost:1', SCHEMA_REGISTRY_URL: 'http://localhost:2', DATABASE_URL: 'postgresql://localhost' };
  const { status, stderr } = prepare(env, '--embedded');
  expect(status).toBe(1);
  expect(stderr).toContain('Apache Maven');
  expect(stderr).not.toContain('DATABASE_URL set');
});

it('names what only some tests need with it, at once', () => {
  const { status, stderr } = prepare({ CHROMIUM: '' }, '--embedded', '--tests');
  expect(status).toBe(1);
  for (const needed of [/Apache Maven/, /JDK 17 or newer/, /Python 3 with venv/]) expect(stderr).toMatch(needed);
  expect(prepare({}, '--embedded').stderr).not.toContain('Python');
});
