import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';

const empty = mkdtempSync(join(tmpdir(), 'nothing-'));
afterAll(() => rmSync(empty, { recursive: true }));

/** What is missing on a machine with no command at all, in a clone where nothing was downloaded; `env` is all of its environment. */
function missing(options: object, env: Record<string, string> = {}): string[] {
  const file = join(import.meta.dirname, 'prerequisites.mjs');
  const code = `import { missingPrerequisites } from ${JSON.stringify(file)};
    console.log(JSON.stringify(missingPrerequisites(${JSON.stringify({ root: empty, ...options })})));`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { env: { PATH: empty, ...env }, encoding: 'utf8' });
  return JSON.parse(stdout) as string[];
}

const external = { KAFKA_BROKERS: 'a:1', SCHEMA_REGISTRY_URL: 'http://a', DATABASE_URL: 'postgresql://a/b' };

describe('missing prerequisites', () => {
  it('are named all at once, each with what to install, and with what would do instead', () => {
    const lines = missing({});
    expect(lines.join('\n')).toMatch(/Maven 3\.8 or newer.*apt-get install maven/);
    if (process.getuid?.() === 0) expect(lines.join('\n')).toMatch(/account `postgres`.*useradd/);
    expect(lines.at(-1)).toMatch(/Docker engine.*KAFKA_BROKERS, SCHEMA_REGISTRY_URL and DATABASE_URL/);
  });

  it('are none where all three servers are named, or where nothing is started', () => {
    expect(missing({}, external)).toEqual([]);
    expect(missing({ packagesOnly: true })).toEqual([]);
  });

  it('are those of our own servers in tests, whatever the environment names', () => {
    expect(missing({ embedded: true }, external).join('\n')).toContain('Maven');
  });

  it('are only those of the parts that nobody named', () => {
    const { DATABASE_URL: _, ...others } = external;
    expect(missing({}, others).join('\n')).not.toContain('Maven');
  });
});
