import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readJsonFile, writeJsonFile } from './json-file.js';

const dir = mkdtempSync(join(tmpdir(), 'json-'));
const file = join(dir, 'inner', 'endpoints.json');
afterAll(() => rmSync(dir, { recursive: true }));

describe('a JSON file', () => {
  it('is replaced as a whole, never written into, and read by its owner alone', () => {
    writeJsonFile(file, { pids: { intake: 1 } });
    const first = statSync(file);
    writeJsonFile(file, { pids: { intake: 2 } });
    const second = statSync(file);
    expect(second.ino).not.toBe(first.ino);
    expect(second.mode & 0o777).toBe(0o600);
    expect(readJsonFile(file)).toEqual({ pids: { intake: 2 } });
    expect(readdirSync(join(dir, 'inner'))).toEqual(['endpoints.json']);
  });

  it('that is not there is undefined', () => {
    expect(readJsonFile(join(dir, 'none.json'))).toBeUndefined();
  });
});
