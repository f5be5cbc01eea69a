import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DestinationConfig } from '#runtime';
import { checkDestinations } from './check-destinations.js';
import { checkSecrets } from './check-secrets.js';
import { checkServices } from './check-services.js';
import { diagnosisLines } from './doctor.js';

let dir: string;
let server: Server;
/** Status and body by path. */
let answers: Record<string, [number, unknown]>;
let url: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'doctor-'));
  writeFileSync(join(dir, 'hmac.key'), Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 });
  answers = {};
  server = createServer((request, response) => {
    const [status, body] = answers[request.url ?? ''] ?? [404, {}];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(dir, { recursive: true });
});

describe('credentials', () => {
  const about = (file: string) => checkSecrets(dir, undefined).find(({ what }) => what.endsWith(file));

  it('are fine when they can be read and are nobody else’s', () => expect(about('hmac.key')).toMatchObject({ ok: true }));

  it('that others may read are named with the command that mends it', () => {
    chmodSync(join(dir, 'hmac.key'), 0o640);
    expect(about('hmac.key')).toMatchObject({
      ok: false,
      detail: expect.stringContaining('640'),
      fix: `chmod 600 ${join(dir, 'hmac.key')}`,
    });
  });

  it('that are missing or broken are named, and never shown', () => {
    writeFileSync(join(dir, 'hmac.key'), 'not-a-key-but-secret', { mode: 0o600 });
    expect(about('keyring.json')).toMatchObject({ ok: false, detail: expect.stringContaining('ENOENT') });
    expect(about('hmac.key')).toMatchObject({ ok: false, detail: 'is not a key' });
    expect(JSON.stringify(checkSecrets(dir, undefined))).not.toContain('not-a-key-but-secret');
  });
});

describe('services', () => {
  it('are fine when they say so, and else tell what is red', async () => {
    answers['/health/ready'] = [200, { ready: true, checks: [] }];
    expect(await checkServices({ intake: url })).toMatchObject([{ ok: true }]);
    answers['/health/ready'] = [
      503,
      {
        ready: false,
        checks: [
          { name: 'database', ok: false, detail: 'no answer' },
          { name: 'relay', ok: true },
        ],
      },
    ];
    expect(await checkServices({ intake: url })).toMatchObject([{ what: 'service intake', ok: false, detail: 'database: no answer' }]);
  });

  it('that do not answer are named', async () => {
    expect(await checkServices({ intake: 'http://127.0.0.1:1' })).toMatchObject([{ what: 'service intake', ok: false }]);
  });
});

describe('destinations', () => {
  const destination = (): DestinationConfig => ({
    name: 'crm',
    connector: 'webhook',
    primary: true,
    sandbox: true,
    requiresConsent: false,
    operations: ['lead'],
    baseUrl: url,
    secret: { file: 'crm-secret' },
    nativeIdempotency: true,
    lookup: {},
    paths: { lead: '/leads' },
    updates: {},
    protectedFields: [],
    errors: [],
    check: '/check',
    timeoutMs: 1_000,
    connectTimeoutMs: 500,
    lookupTimeoutMs: 1_000,
    maxExecutionMs: 1_000,
    searchLagMs: 1_000,
    uncertainHorizonMs: 1_000,
    keyRetentionMs: 1_000,
    backoff: { baseMs: 1, capMs: 1 },
    breaker: { coolDownMs: 1, longestCoolDownMs: 1 },
    retryBudget: 0.2,
    concurrency: 1,
  });

  it('are asked their own check, with their credentials', async () => {
    expect(await checkDestinations([destination()], dir)).toMatchObject([{ what: expect.stringContaining('crm'), ok: false }]);
    writeFileSync(join(dir, 'crm-secret'), `whsec_${Buffer.alloc(32, 1).toString('base64')}`, { mode: 0o600 });
    answers['/check'] = [200, {}];
    expect(await checkDestinations([destination()], dir)).toMatchObject([{ what: 'destination crm', ok: true }]);
    answers['/check'] = [401, {}];
    expect(await checkDestinations([destination()], dir)).toMatchObject([{ ok: false, fix: expect.stringContaining('secret') }]);
    const unchecked = { ...destination(), check: undefined };
    expect(await checkDestinations([unchecked], dir)).toMatchObject([{ ok: true, detail: expect.stringContaining('nothing was asked') }]);
  });
});

it('what is wrong stands first, with its fix', () => {
  const findings = [
    { what: 'kafka', ok: true, detail: '3 brokers answer' },
    { what: 'registry', ok: false, detail: 'RegistryUnavailable', fix: 'Start it' },
  ];
  expect(diagnosisLines({ ok: false, findings })).toEqual([
    { result: 'FAIL', what: 'registry', detail: 'RegistryUnavailable', fix: 'Start it' },
    { result: 'ok', what: 'kafka', detail: '3 brokers answer', fix: '' },
  ]);
});
