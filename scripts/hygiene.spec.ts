import { describe, expect, it } from '@jest/globals';
import { brokenLinks, faultsOf } from './hygiene.js';

const problems = (text: string, file = 'docs/page.md') =>
  faultsOf(file, text).map(({ line, problem }) => `${line}: ${problem.split(':')[0]}`);

describe('the hygiene of a committed text', () => {
  it('accepts ordinary text, relative paths and fictional people', () => {
    expect(problems('see ./home/list, {root}/home/ and https://site.example.test/root/\nada@example.test')).toEqual([]);
    expect(problems("import x from '@types/node'; // node@24.1.0, postgres://ld:pw@127.0.0.1:5432/ld")).toEqual([]);
  });

  it.each(['<', '>'])('refuses a line that begins with seven %s, left by an unfinished merge', (sign) => {
    expect(problems(`fine\n${sign.repeat(7)} main\nfine`)).toEqual(['2: is a marker of an unfinished merge']);
    expect(problems(`a ${sign.repeat(7)} b\n${sign.repeat(8)}`)).toEqual([]);
  });

  it.each([`cd ${'/'}work/main`, `'${'/'}root/.m2'`, `${'/'}home/ada/code`, `file://${'/'}Users/ada`, `C:${'\\'}Users\\ada`])(
    'refuses the machine path in %j',
    (text) => expect(problems(`fine\n${text}`)).toEqual(['2: holds an absolute path of one machine']),
  );

  it.each(['registry.npmjs', 'pypi', 'repo.maven.apache'])('refuses the registry host %s', (name) => {
    expect(problems(`https://${name}${'.'}org/x`)).toEqual([`1: names the package registry host ${name}.org`]);
  });

  it.each(['try', 'prot'])(
    'refuses what is under the GPL: its text anywhere, an import anywhere, its name outside the tests that start it',
    (start) => {
      const name = { try: `${start}tond`, prot: `${start}eus` }[start];
      const imported = '1: imports a package under the GPL';
      for (const line of [`from ${name}.model import fields`, `import ${name}`, `import os, ${name}`]) {
        for (const file of ['examples/python/x.py', 'test/real-crm/x.py', 'libs/x.py']) expect(problems(line, file)).toEqual([imported]);
      }
      expect(problems(`join(venv, 'bin', '${name}')`, 'test/real-crm/start.ts')).toEqual([]);
      expect(problems(`runs \`${name}\``, 'docs/connecting.md')).toEqual([]);
      expect(problems(`join(venv, 'bin', '${name}')`, 'libs/start.ts')).toEqual(['1: names a package under the GPL outside test/real-crm']);
      expect(problems(`# under the GNU General${' '}Public License, version 3`, 'test/real-crm/x.py')).toEqual([
        '1: puts a text under the GPL',
      ]);
      expect(problems(`# SPDX-License-Identifier${':'} GPL-3.0-or-later`, 'test/real-crm/x.ts')).toEqual(['1: puts a text under the GPL']);
      expect(problems('Tryton is under the GPL: it runs as a process of its own', 'docs/x.md')).toEqual([]);
    },
  );

  it('refuses an e-mail address of anybody who may exist, without repeating it', () => {
    const [fault] = faultsOf('a.md', `mail ada${'@'}example.com`);
    expect(fault?.problem).toMatch(/outside example\.test/);
    expect(fault?.problem).not.toContain('ada');
  });

  it('refuses download addresses in a lockfile and reads nothing else there', () => {
    const text = `"resolved": "https://mirror.example.test/x.tgz",\n"author": "ada${'@'}example.com"`;
    expect(problems(text, 'examples/typescript/package-lock.json')).toEqual(['1: records a download address']);
  });

  it('refuses a link to a file that is not there, and follows links from where the page stands', () => {
    const exists = (path: string) => ['README.md', 'docs/adr', 'docs/producing.md'].includes(path);
    const text = '[a](../README.md#start) [b](adr) [c](producing.md)\n[d](gone.md) [e](https://example.test/x) [f](#here)';
    expect(brokenLinks('docs/page.md', text, exists)).toEqual([
      { file: 'docs/page.md', line: 2, problem: 'links to gone.md, which does not exist' },
    ]);
  });
});
