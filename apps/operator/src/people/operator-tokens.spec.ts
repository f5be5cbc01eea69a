import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigError } from '#runtime';
import { loadOperatorTokens, tokenFinder } from './operator-tokens.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'operator-tokens-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const write = (entries: unknown): void => writeFileSync(join(dir, 'operator-tokens.json'), JSON.stringify(entries));
const nina = { subject: 'nina', name: 'Nina', roles: ['viewer'], organizations: ['demo'] };

describe('the tokens of people', () => {
  it('stand for their person, as they are or as their hash; two of one subject are one person', () => {
    const token_hash = `sha256:${createHash('sha256').update('second-token-of-nina').digest('hex')}`;
    write([
      { token: 'first-token-of-nina', ...nina },
      { token_hash, ...nina, roles: ['approver'], permissions: ['configure'] },
    ]);
    const find = tokenFinder(loadOperatorTokens(dir));
    expect(find('first-token-of-nina')).toEqual({ ...nina, permissions: ['list'] });
    expect(find('second-token-of-nina')).toMatchObject({
      subject: 'nina',
      permissions: ['list', 'replay_approve', 'delete', 'configure'],
    });
    expect(find('third-token-of-nina')).toBeUndefined();
    expect(find(token_hash)).toBeUndefined();
  });

  it.each([
    ['short', [{ ...nina, token: 'short' }]],
    ['given twice over', [{ ...nina, token: 'first-token-of-nina', token_hash: `sha256:${'0a'.repeat(32)}` }]],
    ['missing', [nina]],
    ['of a role that does not exist', [{ ...nina, token: 'first-token-of-nina', roles: ['root'] }]],
    ['of no list', { nina: 'first-token-of-nina' }],
  ])('that are %s are refused without being shown', (_what, entries) => {
    write(entries);
    expect(() => loadOperatorTokens(dir)).toThrow(ConfigError);
    expect(() => loadOperatorTokens(dir)).not.toThrow(/first-token/);
  });

  it('that cannot be read are named', () => {
    expect(() => loadOperatorTokens(dir)).toThrow(/operator-tokens\.json.*ENOENT/);
  });
});
