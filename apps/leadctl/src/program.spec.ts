import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CommanderError } from 'commander';
import { BrokersUnavailable, RegistryUnavailable, SchemaRefused } from '#messaging';
import { ConfigError, DatabaseUnavailable } from '#runtime';
import { newSourceKey } from './commands/sources.js';
import { topicLines } from './commands/topics.js';
import { exitCodeOf } from './exit-codes.js';
import { createOutput } from './output.js';
import { createProgram } from './program.js';

let printed: string;
beforeEach(() => {
  printed = '';
  const write = (text: unknown) => {
    printed += String(text);
    return true;
  };
  jest.spyOn(process.stdout, 'write').mockImplementation(write as never);
  jest.spyOn(process.stderr, 'write').mockImplementation(write as never);
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** Exit code of a run, 0 where nothing was said. */
async function run(...words: string[]): Promise<number> {
  let code = 0;
  const program = createProgram((ended) => {
    code = ended;
  }, {});
  try {
    await program.parseAsync(['node', 'leadctl', ...words]);
    return code;
  } catch (error) {
    return error instanceof CommanderError ? 2 : exitCodeOf(error);
  }
}

function folder(schema: object): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'leadctl-'));
  mkdirSync(path.join(dir, 'a-value'));
  writeFileSync(path.join(dir, 'a-value', 'v1.avsc'), JSON.stringify(schema));
  return dir;
}

describe('leadctl', () => {
  it('checks schemas without any server, and ends with 3 where something is wrong', async () => {
    expect(await run('schemas', 'check', '--dir', folder({ type: 'record', name: 'A', fields: [] }))).toBe(0);
    expect(printed).toBe('all schemas are fine\n');
    const bad = folder({ type: 'record', name: 'A', fields: [{ name: 'n', type: 'long' }] });
    expect(await run('--json', 'schemas', 'check', '--dir', bad)).toBe(3);
    const text = printed.slice(printed.indexOf('['));
    expect(JSON.parse(text)).toEqual([{ file: 'a-value/v1.avsc', problem: expect.stringContaining('n: a long') }]);
  });

  it.each([['migrate'], ['topics', 'apply'], ['schemas', 'apply'], ['topics', 'apply', '--replication', '0'], ['nonsense']])(
    'ends with 2 for what it cannot begin: %s',
    async (...words) => {
      expect(await run(...words)).toBe(2);
    },
  );

  it('names everything that is missing at once', async () => {
    const program = createProgram(() => undefined, {});
    const applied = program.parseAsync(['node', 'leadctl', 'topics', 'apply']);
    await expect(applied).rejects.toThrow(/KAFKA_BROKERS[\s\S]*LD_SITE_FILE/);
  });

  it('tells apart what a person must mend and what only needs another try', () => {
    expect(exitCodeOf(new ConfigError([]))).toBe(2);
    expect(exitCodeOf(new SchemaRefused('no'))).toBe(3);
    for (const error of [new BrokersUnavailable('x'), new RegistryUnavailable('x'), new DatabaseUnavailable('57P01')]) {
      expect(exitCodeOf(error)).toBe(4);
    }
    expect(exitCodeOf(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))).toBe(4);
    expect(exitCodeOf(new Error('x'))).toBe(1);
  });
});

describe('a source key', () => {
  it('is new each time and is hashed as the site file wants it', () => {
    const [one, other] = [newSourceKey(), newSourceKey()];
    expect(one.key).not.toBe(other.key);
    expect(one.key).toMatch(/^ldk_[\w-]{43}$/);
    expect(one.hash).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
});

describe('output', () => {
  it('is a table with as wide columns as needed, or one JSON document', () => {
    const lines = [
      { name: 'a', count: 10 },
      { name: 'long name', count: 2 },
    ];
    const texts: string[] = [];
    createOutput(false, (text) => texts.push(text)).table(lines, 'none');
    createOutput(true, (text) => texts.push(text)).table(lines, 'none');
    createOutput(false, (text) => texts.push(text)).table([], 'none');
    createOutput(true, (text) => texts.push(text)).table([], 'none');
    expect(texts[0]).toBe('NAME       COUNT\na          10\nlong name  2\n');
    expect(JSON.parse(texts[1] ?? '')).toEqual(lines);
    expect(texts.slice(2)).toEqual(['none\n', '[]\n']);
  });

  it('of topics shows what was done and what is wrong', () => {
    const report = {
      created: ['new'],
      existing: ['fine', 'bad'],
      offsets: [{ group: 'g', topic: 'new', partitions: [0, 1] }],
      problems: [{ name: 'topic bad', problem: 'is odd', fix: 'Mend it' }],
    };
    expect(topicLines(report)).toEqual([
      { name: 'topic new', result: 'created' },
      { name: 'topic fine', result: 'as it should be' },
      { name: 'group g', result: 'begins at the earliest record of new, partition 0, 1' },
      { name: 'topic bad', result: 'PROBLEM: is odd. Mend it' },
    ]);
  });
});
