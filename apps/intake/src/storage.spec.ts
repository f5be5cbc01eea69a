import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigError } from '#runtime';
import { loadSecrets } from './storage.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'secrets-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('the secrets of intake', () => {
  it('are named all at once where they are missing or wrong, without their content', () => {
    writeFileSync(join(dir, 'hmac.key'), 'hunter2');
    let problem: unknown;
    try {
      loadSecrets(dir);
    } catch (error) {
      problem = error;
    }
    expect(problem).toBeInstanceOf(ConfigError);
    const { problems, message } = problem as ConfigError;
    expect(problems.map(({ path }) => basename(path))).toEqual(['keyring.json', 'hmac.key', 'internal-tokens.json']);
    expect(message).not.toContain('hunter2');
  });
});
