// What a committed text must not contain. Pure: one file's name and text in, the faults out; check-hygiene.ts feeds it the repository.
import { posix } from 'node:path';

export interface Fault {
  file: string;
  line: number;
  problem: string;
}

/** Written in parts so that this file passes its own check. */
const registryHosts = [
  ['registry', 'npmjs', 'org'],
  ['registry', 'yarnpkg', 'com'],
  ['pypi', 'org'],
  ['files', 'pythonhosted', 'org'],
  ['repo', 'maven', 'apache', 'org'],
  ['repo1', 'maven', 'org'],
  ['static', 'crates', 'io'],
  ['proxy', 'golang', 'org'],
  ['deb', 'debian', 'org'],
].map((parts) => parts.join('.'));

/** The CRM of the tests is under the GPL: it runs as a process of its own, and only the tests that start it name its packages. */
const gplPackage = new RegExp(`\\b(?:${['try' + 'tond', 'prot' + 'eus'].join('|')})\\b`);
const gplImport = new RegExp(`^\\s*(?:from|import)\\s+(?:[\\w.]+\\s*,\\s*)*${gplPackage.source}`);
const mayNameIt = /^(?:test\/real-crm|docs)\//;
const gplText = new RegExp(['GNU (?:Affero |Lesser )?General ', 'Public License|SPDX-License', '-Identifier:.*GPL'].join(''));
const machinePath = /(?<![\w.}~-])\/(?:work|root|Users|home\/[a-z][\w-]*)\/|\b[A-Z]:\\Users\\/;
/** Compilers accept them where they lie in a comment or a template. */
const conflictMarker = /^(?:<{7}|>{7}) /;
const email = /[A-Za-z0-9._%+-]+@((?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,})/g;
const lockfile = /(^|\/)package-lock\.json$/;

/** The faults of one file, in line order. `file` is its path in the repository; an e-mail is never repeated in the problem. */
export function faultsOf(file: string, text: string): Fault[] {
  return text.split('\n').flatMap((content, index) => lineProblems(file, content).map((problem) => ({ file, line: index + 1, problem })));
}

/**
 * The links of a Markdown page that lead to no file of the repository. `exists` is asked with paths relative to the repository; addresses elsewhere
 * and places within a page are not looked at.
 */
export function brokenLinks(file: string, text: string, exists: (path: string) => boolean): Fault[] {
  return text.split('\n').flatMap((content, index) => {
    const targets = [...content.matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)].map(([, target]) => String(target));
    const broken = targets.filter((target) => !/^[a-z]+:/.test(target) && !exists(posix.join(posix.dirname(file), target)));
    return broken.map((target) => ({ file, line: index + 1, problem: `links to ${target}, which does not exist` }));
  });
}

function lineProblems(file: string, content: string): string[] {
  const problems: string[] = [];
  const host = registryHosts.find((name) => content.includes(name));
  if (host !== undefined) problems.push(`names the package registry host ${host}: a package is known by its name alone`);
  if (lockfile.test(file)) {
    if (/"resolved":\s*"https?:/.test(content))
      problems.push('records a download address: install with omit-lockfile-registry-resolved=true');
    return problems;
  }
  if (gplText.test(content)) problems.push('puts a text under the GPL: nothing of that is shipped here');
  if (gplImport.test(content)) problems.push('imports a package under the GPL: it runs as a process of its own');
  else if (!mayNameIt.test(file) && gplPackage.test(content))
    problems.push('names a package under the GPL outside test/real-crm: only the tests that start it do');
  if (machinePath.test(content)) problems.push('holds an absolute path of one machine: derive it from import.meta.dirname');
  if (conflictMarker.test(content)) problems.push('is a marker of an unfinished merge: decide what stays');
  for (const [, domain] of content.matchAll(email)) {
    if (domain?.toLowerCase() !== 'example.test') problems.push('holds an e-mail address outside example.test: use a fictional person');
  }
  return problems;
}
