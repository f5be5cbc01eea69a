import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigError } from './config-error.js';
import { loadHmacSecret, loadInternalTokens, resolveSecret } from './secrets.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'secrets-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

const put = (name: string, text: string) => writeFileSync(join(folder, name), text);

function textOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('secrets', () => {
  it('come from a file in the secrets folder or from a variable', () => {
    put('crm-secret', 'whsec_abc\n');
    expect(resolveSecret({ file: 'crm-secret' }, folder)).toBe('whsec_abc');
    expect(resolveSecret({ file: join(folder, 'crm-secret') }, '/nowhere')).toBe('whsec_abc');
    expect(resolveSecret({ env: 'CRM_SECRET' }, folder, { CRM_SECRET: ' whsec_def ' })).toBe('whsec_def');
  });

  it('that are missing or empty are named with the place', () => {
    put('empty', ' \n');
    expect(textOf(() => resolveSecret({ file: 'absent' }, folder))).toMatch(/absent: cannot be read \(ENOENT\)/);
    expect(textOf(() => resolveSecret({ file: 'empty' }, folder))).toMatch(/empty: is empty/);
    expect(textOf(() => resolveSecret({ env: 'CRM_SECRET' }, folder, {}))).toMatch(/CRM_SECRET: is not set/);
  });

  it('of the wrong form are refused without being shown', () => {
    put('internal-tokens.json', '{"intake":"short-hunter2"}');
    put('hmac.key', 'hunter2');
    expect(textOf(() => loadInternalTokens(folder))).not.toContain('hunter2');
    expect(textOf(() => loadHmacSecret(folder))).not.toContain('hunter2');
    put('internal-tokens.json', '{"intake":"hunter2');
    expect(textOf(() => loadInternalTokens(folder))).not.toContain('hunter2');
  });

  it('of the right form are read', () => {
    put('internal-tokens.json', JSON.stringify({ intake: 'a'.repeat(20) }));
    put('hmac.key', Buffer.alloc(32, 7).toString('base64'));
    expect(loadInternalTokens(folder)).toEqual({ intake: 'a'.repeat(20) });
    expect(loadHmacSecret(folder)).toEqual(Buffer.alloc(32, 7));
  });
});
