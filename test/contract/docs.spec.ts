import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { headers } from '#contracts';
import { metrics, registry } from '#runtime';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const filesBelow = (folder: string, suffix: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(suffix))
    .map((file) => join(folder, file));

const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', ...filesBelow('docs', '.md')];
const sources = ['apps', 'libs'].flatMap((folder) => filesBelow(folder, '.ts')).filter((file) => !file.endsWith('.spec.ts'));

/** What the pages name by a pattern and nobody has, as `page: name`. */
function unknownNames(pattern: RegExp, isKnown: (name: string) => boolean): string[] {
  return pages.flatMap((page) => {
    const named = [...read(page).matchAll(pattern)].map(([name]) => name);
    return named.filter((name) => !isKnown(name)).map((name) => `${page}: ${name}`);
  });
}

describe('the documentation', () => {
  it('names only metrics that a process exposes', async () => {
    const known = new Set((await registry.getMetricsAsJSON()).map(({ name }) => name));
    expect(unknownNames(/\b(?:leads|messaging|kafka_consumergroup)_[a-z0-9_]+/g, (name) => known.has(name))).toEqual([]);
  });

  it('names only headers that a record carries', () => {
    const known = new Set<string>(Object.values(headers));
    expect(unknownNames(/\bld-[a-z-]+[a-z]/g, (name) => known.has(name))).toEqual([]);
  });

  it('quotes only log lines that somebody writes', () => {
    const code = sources.map(read).join('\n');
    const quoted = pages.flatMap((page) => [...read(page).matchAll(/the log line `([^`]+)`/g)].map(([, line]) => String(line)));
    expect(quoted.length).toBeGreaterThan(0);
    expect(quoted.filter((line) => !code.includes(`'${line}'`))).toEqual([]);
  });
});

describe('the table of metrics', () => {
  it('holds none that no code sets', () => {
    const code = sources.map(read).join('\n');
    const names = Object.keys(metrics);
    expect(names.filter((name) => !new RegExp(`metrics\\.${name}\\b`).test(code))).toEqual([]);
  });
});
