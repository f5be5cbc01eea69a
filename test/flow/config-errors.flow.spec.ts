import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { projectRoot } from '#testkit';

const root = projectRoot();
const misconfigured = 2;

let dir: string;
let infra: Server;
let connections = 0;
let port: number;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'config-errors-'));
  // Stands for Kafka, the registry and PostgreSQL alike: nobody may come before the configuration is right.
  infra = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => infra.listen(0, '127.0.0.1', resolve));
  port = (infra.address() as { port: number }).port;
});
afterAll(() => {
  infra.close();
  rmSync(dir, { recursive: true });
});

/** Secrets of an installation in which these are gone. */
function secretsWithout(service: string, ...gone: string[]): string {
  const secrets = join(dir, `${service}-secrets`);
  spawnSync(process.execPath, [join(root, 'deploy/make-secrets.mjs'), secrets]);
  for (const name of gone) rmSync(join(secrets, name));
  return secrets;
}

/** The demo's site with changes; each must meet something. */
function siteWith(service: string, changes: readonly [string, string][]): string {
  const file = join(dir, `${service}-site.yaml`);
  const demo = readFileSync(join(root, 'config/demo.yaml'), 'utf8');
  const changed = changes.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`The demo has no ${from}`);
    return text.replace(from, to);
  }, demo);
  writeFileSync(file, changed);
  return file;
}

function run(service: string, env: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const around = {
    PATH: process.env.PATH,
    DATABASE_URL: `postgresql://user:hunter2@127.0.0.1:${port}/leads`,
    KAFKA_BROKERS: `127.0.0.1:${port}`,
    DATABASE_ROLE: '',
    INTERNAL_PORT: '0',
    ...(service === 'intake' || service === 'operator' || service === 'sandbox' ? { HTTP_PORT: 'http' } : {}),
    ...sandboxAndKey,
    ...env,
  };
  return new Promise((resolve) => {
    const main = join(root, 'dist/apps', service, 'src/main.js');
    const child = execFile(process.execPath, [main], { env: around }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, output: stdout + stderr }),
    );
  });
}

const sandboxAndKey = {
  SANDBOX_CRM_URL: 'http://127.0.0.1:1/crm',
  SANDBOX_MARKETING_URL: 'http://127.0.0.1:1/marketing',
  SANDBOX_CHAT_URL: 'http://127.0.0.1:1/chat',
  TOUR_DOOR_URL: 'http://127.0.0.1:1',
  TOUR_TLS_URL: 'https://127.0.0.1:1',
  DEMO_SOURCE_KEY_HASH: `sha256:${'0a'.repeat(32)}`,
};

/** The fields that a process named, in its words: one line each, `field: problem. fix`. */
const named = (output: string): string[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.trim());

const wrongSite: [string, string][] = [
  ['    chat: sales\n    owner: ada\n    policy: default', '    chat: nowhere\n    owner: ada\n    policy: default'],
  ['policies:\n', 'retention: { vault: 6d }\npolicies:\n'],
];
const common = [/^INTERNAL_PORT: is too small\. /, /^routing\[0\]\.chat: names something/, /^retention\.vault: is shorter than a lead may/];
const tls = { KAFKA_SSL_CA_FILE: '/nowhere/ca.pem' };

describe.each<{
  service: string;
  env?: Record<string, string>;
  site?: [string, string][];
  gone: string[];
  expected: RegExp[];
}>([
  {
    service: 'intake',
    env: tls,
    gone: ['keyring.json', 'internal-tokens.json'],
    expected: [
      /^HTTP_PORT: /,
      /^KAFKA_SSL_CA_FILE: cannot be read/,
      /\/keyring\.json: cannot be read \(ENOENT\)/,
      /\/internal-tokens\.json: /,
    ],
  },
  {
    service: 'crm-writer',
    env: {
      ...tls,
      LEASE_MS: '1500',
      INTERNAL_URLS: '{"operator":"http://127.0.0.1:1"}',
      LD_DESTINATIONS: 'sandbox-crm,elsewhere',
    },
    site: [['native_idempotency: true', 'native_idempotency: true\n    key_retention: 2d\n    lookup_timeout_ms: 3000']],
    gone: ['hmac.key', 'crm-secret', 'permit-public.json'],
    expected: [
      /^KAFKA_SSL_CA_FILE: /,
      /^INTERNAL_URLS: does not name intake\. .*vault/,
      /^LD_DESTINATIONS: names a destination .* Use some of: .*sandbox-crm/,
      /^destinations\.sandbox-crm\.timeout_ms: is not shorter than LEASE_MS \(1500\)\. Shorten the timeout or lengthen LEASE_MS/,
      /^destinations\.sandbox-crm\.lookup_timeout_ms: is not shorter than LEASE_MS/,
      /^destinations\.sandbox-crm\.key_retention: is shorter than a lead may be retried and replayed \(8d/,
      /^destinations\.sandbox-crm\.secret: .*\/crm-secret: cannot be read \(ENOENT\)\. Create it/,
      /\/hmac\.key: /,
      /\/permit-public\.json: /,
    ],
  },
  {
    service: 'notifier',
    env: { ...tls, INTERNAL_URLS: '{"operator":"http://127.0.0.1:1"}' },
    gone: ['chat-token', 'hmac.key', 'permit-public.json'],
    expected: [
      /^KAFKA_SSL_CA_FILE: /,
      /^channels\.sales\.token: .*\/chat-token: /,
      /^channels\.duty\.token: .*\/chat-token: /,
      /\/hmac\.key: /,
      /\/permit-public\.json: /,
    ],
  },
  {
    service: 'reconciler',
    env: { ...tls, INTERNAL_URLS: '{"intake":"http://127.0.0.1:1","operator":"http://127.0.0.1:1"}' },
    gone: ['hmac.key', 'crm-secret'],
    expected: [
      /^KAFKA_SSL_CA_FILE: /,
      /^INTERNAL_URLS: does not name crm-writer\. /,
      /^INTERNAL_URLS: does not name notifier\. /,
      /^destinations\.[a-z-]+\.secret: .*\/crm-secret: /,
      /\/hmac\.key: /,
    ],
  },
  {
    service: 'operator',
    env: { ...tls, INTERNAL_URLS: '{"notifier":"http://127.0.0.1:1"}' },
    gone: ['permit-private.json', 'audit-private.json', 'operator-tokens.json', 'chat-token'],
    expected: [
      /^HTTP_PORT: /,
      /^KAFKA_SSL_CA_FILE: /,
      /^INTERNAL_URLS: does not name crm-writer\. /,
      /\/permit-private\.json: /,
      /\/audit-private\.json: /,
      /\/operator-tokens\.json: /,
      /^channels\.sales\.token: .*\/chat-token: /,
      /^channels\.duty\.token: .*\/chat-token: /,
    ],
  },
])('$service', ({ service, env, site, gone, expected }) => {
  it('names everything that is wrong with its variables, the site file and the secrets at once, each with a fix, and connects to nothing', async () => {
    const secrets = secretsWithout(service, ...gone);
    const file = siteWith(service, [...wrongSite, ...(site ?? [])]);
    const { code, output } = await run(service, { LD_SITE_FILE: file, LD_SECRETS_DIR: secrets, ...env });
    const lines = named(output);
    for (const line of [...common, ...expected]) expect(lines).toContainEqual(expect.stringMatching(line));
    expect(lines.filter((line) => ![...common, ...expected].some((known) => known.test(line)))).toEqual([]);
    for (const line of lines) expect(line).toMatch(/: .+\. .+/);
    expect(code).toBe(misconfigured);
    expect(output).not.toContain('hunter2');
    expect(connections).toBe(0);
  });
});

it('crm-writer names what is wrong with the rest where the folder of its secrets is not named', async () => {
  const file = siteWith('crm-writer', wrongSite);
  const { code, output } = await run('crm-writer', { LD_SITE_FILE: file, LEASE_MS: '1500' });
  expect(code).toBe(misconfigured);
  expect(named(output)).toContainEqual(expect.stringMatching(/^LD_SECRETS_DIR: is missing/));
  expect(named(output)).toContainEqual(expect.stringMatching(/^routing\[0\]\.chat: /));
  expect(named(output)).toContainEqual(expect.stringMatching(/^destinations\.sandbox-crm\.timeout_ms: /));
  expect(output).not.toContain('crm-secret');
});

it('a sandbox names a secret that it cannot use together with its variables', async () => {
  const secrets = secretsWithout('sandbox');
  writeFileSync(join(secrets, 'crm-secret'), '');
  const { code, output } = await run('sandbox', { LD_SECRETS_DIR: secrets });
  expect(code).toBe(misconfigured);
  expect(named(output)).toEqual([
    expect.stringMatching(/^INTERNAL_PORT: |^HTTP_PORT: /),
    expect.stringMatching(/^INTERNAL_PORT: |^HTTP_PORT: /),
    expect.stringMatching(/\/crm-secret: is empty/),
  ]);
});
