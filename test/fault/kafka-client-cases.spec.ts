import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { projectRoot } from '#testkit';
import { isNamed } from '../support/named-tests.js';

/** Holds docs/kafka-client-cases.md against the tree: every spec that it names exists once, and every test that it names under that name in one of them. */
const root = projectRoot();
const page = readFileSync(join(root, 'docs/kafka-client-cases.md'), 'utf8');
const library = 'libs/messaging/src';
const specs = globSync(`${library}/**/*.spec.ts`, { cwd: root });

/** What the page answers to each case. Its own quotes are in the first column, the names of tests in the second. */
const answers = [...page.matchAll(/^\| (?!case \||---)(.+?) \| (.+) \|$/gm)].map(([, fault = '', answer = '']) => ({ fault, answer }));

/** `watermark.spec`, `kafka-port.int`; from the root of the project where a folder stands before it. */
const namesIn = (text: string): string[] => [...text.matchAll(/`([\w/-]+\.(?:spec|int|flow|fault))`/g)].map(([, name = '']) => name);

/** Files that a name can mean. */
function filesOf(name: string): string[] {
  const file = name.endsWith('.spec') ? `${name}.ts` : `${name}.spec.ts`;
  return name.includes('/') ? [file].filter((path) => existsSync(join(root, path))) : specs.filter((path) => path.endsWith(`/${file}`));
}

describe('the cases of the Kafka client', () => {
  it('are read from the page, all of them', () => {
    expect(answers.length).toBeGreaterThan(60);
  });

  it.each(answers.map(({ fault, answer }) => [fault, answer] as const))('%s', (_fault, answer) => {
    const names = namesIn(answer);
    expect(names.filter((name) => filesOf(name).length !== 1)).toEqual([]);
    const tests = [...answer.matchAll(/"([^"]+)"/g)].map(([, test = '']) => test);
    expect(tests.filter((test) => !isNamed(test, names.flatMap(filesOf)))).toEqual([]);
  });
});
