// Reads every file that is or could be committed and fails on what hygiene.ts finds, on a file too large for a code repository, and where
// there is nothing to read.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brokenLinks, type Fault, faultsOf } from './hygiene.js';

const root = process.cwd();
const maxBytes = 1_000_000;

function faultsOfFile(file: string): Fault[] {
  const bytes = readFileSync(join(root, file));
  if (bytes.length > maxBytes) return [{ file, line: 0, problem: `is larger than ${maxBytes} bytes` }];
  if (bytes.includes(0)) return [];
  const text = bytes.toString('utf8');
  const links = file.endsWith('.md') ? brokenLinks(file, text, (path) => existsSync(join(root, path))) : [];
  return [...faultsOf(file, text), ...links];
}

const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
const files = listed.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
const faults = files.flatMap(faultsOfFile);
for (const { file, line, problem } of faults) console.error(`${file}:${line} ${problem}`);
console.log(`${files.length} files read, ${faults.length} faults`);
if (faults.length > 0 || files.length === 0) process.exitCode = 1;
