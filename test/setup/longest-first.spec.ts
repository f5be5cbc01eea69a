import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { projectRoot } from '#testkit';

const file = join(import.meta.dirname, 'longest-first.mjs');

describe('the order of spec files', () => {
  it('names only files that are there', async () => {
    const { seconds } = (await import(file)) as { seconds: Record<string, number> };
    expect(Object.keys(seconds).filter((file) => !existsSync(join(projectRoot(), file)))).toEqual([]);
  });

  it('begins with those that take longest, whatever their size', async () => {
    const { default: LongestFirst, seconds } = (await import(file)) as {
      default: new () => { sort(tests: { path: string }[]): { path: string }[] };
      seconds: Record<string, number>;
    };
    const [short, long] = [import.meta.filename, join(projectRoot(), Object.keys(seconds)[0] ?? '')];
    const sorted = new LongestFirst().sort([short, long].map((path) => ({ path })));
    expect(sorted.map(({ path }) => path)).toEqual([long, short]);
  });
});
