import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';

const empty = mkdtempSync(join(tmpdir(), 'nothing-'));
afterAll(() => rmSync(empty, { recursive: true }));

/** What is missing on a machine with no command at all, in a clone where nothing was downloaded; `env` is all of its environment. */
function missing(options: object, env: Record<string, string> = {}): string[] {
  return asked(`missingPrerequisites(${JSON.stringify({ root: empty, ...options })})`, env);
}

function asked(call: string, env: Record<string, string>): string[] {
  const file = join(import.meta.dirname, 'prerequisites.mjs');
  const code = `import * as prerequisites from ${JSON.stringify(file)};
    console.log(JSON.stringify(prerequisites.${call}));`;
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

  it('are asked for again where Kafka and the registry were downloaded in other versions', () => {
    const root = mkdtempSync(join(tmpdir(), 'clone-'));
    mkdirSync(join(root, 'deploy/embedded'), { recursive: true });
    writeFileSync(join(root, 'deploy/embedded/pom.xml'), '<project/>');
    const named = (): string => missing({ root, embedded: true }).join('\n');
    mkdirSync(join(root, '.cache/embedded-000000000000'), { recursive: true });
    expect(named()).toContain('Maven');
    const hash = createHash('sha256').update('<project/>').digest('hex').slice(0, 12);
    mkdirSync(join(root, `.cache/embedded-${hash}`));
    expect(named()).not.toContain('Maven');
    rmSync(root, { recursive: true });
  });
});

describe('what only some tests need', () => {
  const forTests = (env: Record<string, string>) => asked('missingForTests()', env).join('\n');
  /** A PATH on which these programs print this and end well. */
  function path(programs: Record<string, string>): string {
    const dir = mkdtempSync(join(empty, 'path-'));
    for (const [name, text] of Object.entries(programs)) {
      writeFileSync(join(dir, name), `#!/bin/sh\nprintf '%s\\n' '${text}'\n`);
      chmodSync(join(dir, name), 0o755);
    }
    return dir;
  }

  it('is named with what to install', () => {
    const lines = forTests({ CHROMIUM: join(empty, 'no-chromium') });
    expect(lines).toMatch(/JDK 17.*openjdk-17-jdk-headless/);
    expect(lines).toMatch(/Python 3 with venv.*python3-venv/);
  });

  it('is a JDK, where Maven runs on a JRE', () => {
    const jdk = path({ javac: '' });
    mkdirSync(join(jdk, 'bin'));
    writeFileSync(join(jdk, 'bin', 'javac'), '');
    const on = (home: string) => path({ mvn: `Java version: 17.0.15, vendor: Debian, runtime: ${home}`, python3: '' });
    expect(forTests({ PATH: on(join(empty, 'jre')) })).toContain('JDK');
    expect(forTests({ PATH: on(jdk) })).not.toContain('JDK');
  });

  it('is nothing where all is there', () => {
    const dir = path({ mvn: 'Apache Maven', python3: '' });
    expect(forTests({ PATH: dir, CHROMIUM: join(dir, 'mvn') })).toBe('');
  });
});
