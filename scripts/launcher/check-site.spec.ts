import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { checkSite } from './check-site.js';
import { portsFrom } from './ports.js';

const demo = readFileSync(join(import.meta.dirname, '../../config/demo.yaml'), 'utf8');
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'check-site-'));
  for (const name of ['crm-secret', 'marketing-secret', 'chat-token']) writeFileSync(join(dir, name), 'a-secret-of-the-test');
});
afterEach(() => rmSync(dir, { recursive: true }));

function check(site: string): string {
  const siteFile = join(dir, 'site.yaml');
  writeFileSync(siteFile, site);
  try {
    checkSite({ ports: portsFrom(7300), siteFile, secretsDir: dir, sourceKeyHash: `sha256:${'0a'.repeat(32)}`, auditHead: '' });
    return 'fine';
  } catch (error) {
    return (error as Error).message;
  }
}

it('finds nothing wrong with the demo', () => {
  expect(check(demo)).toBe('fine');
});

it('names a field that is wrong', () => {
  expect(check(demo.replace('owner: ada', 'owner: nobody'))).toMatch(/routing\[0\]\.owner/);
});

it('names every secret that is not there', () => {
  rmSync(join(dir, 'chat-token'));
  const message = check(demo.replace('{ file: crm-secret }', '{ env: SECRET_THAT_NOBODY_SET }'));
  expect(message).toMatch(/SECRET_THAT_NOBODY_SET/);
  expect(message).toMatch(/chat-token/);
});

it('names what is wrong with the file, its secrets and its times at once', () => {
  rmSync(join(dir, 'chat-token'));
  const message = check(demo.replace('owner: ada', 'owner: nobody').replace('timeout_ms: 2000', 'timeout_ms: 60000'));
  expect(message).toMatch(/routing\[0\]\.owner/);
  expect(message).toMatch(/channels\.sales\.token: .*chat-token/);
  expect(message).toMatch(/destinations\.sandbox-crm\.timeout_ms: is not shorter than LEASE_MS/);
});
