import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { projectRoot } from '#testkit';
import { isNamed } from '../support/named-tests.js';

/** Holds docs/delivery-cases.md against the tree: each case is there once, and every test that it names exists under that name. */
const page = readFileSync(join(projectRoot(), 'docs/delivery-cases.md'), 'utf8');

/** Cases of each letter. */
const counts = { D: 15, O: 13, R: 11, T: 5, C: 19 };
const ids = Object.entries(counts).flatMap(([letter, count]) => Array.from({ length: count }, (_, at) => `${letter}${at + 1}`));

/** Cases that no test of their own answers: the reason stands on the page. */
const byReason = ['D5', 'D15', 'C14'];

/** Id → what the page answers. */
const answers = [...page.matchAll(/^\| ([A-Z]\d+): [^|]+ \| (.+) \|$/gm)].map(([, id = '', answer = '']) => ({ id, answer }));

const filesIn = (text: string): string[] => [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = '']) => file);

describe('the cases of the delivery', () => {
  it('are all on the page, each once and in their order', () => {
    expect(answers.map(({ id }) => id)).toEqual(ids);
  });

  it.each(answers.map(({ id, answer }) => [id, answer] as const))('%s names tests that there are, or a reason', (id, answer) => {
    const files = filesIn(answer);
    expect(files.filter((file) => !existsSync(join(projectRoot(), file)))).toEqual([]);
    const names = [...answer.matchAll(/(?<=[:,] )"([^"]+)"/g)].map(([, name = '']) => name);
    expect(names.filter((name) => !isNamed(name, files))).toEqual([]);
    expect(files.length > 0).toBe(!byReason.includes(id));
  });

  it('names no other file that is not there', () => {
    expect(filesIn(page).filter((file) => !existsSync(join(projectRoot(), file)))).toEqual([]);
  });
});
