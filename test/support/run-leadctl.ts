import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '#testkit';

export interface LeadctlRun {
  /** Exit code. */
  code: number;
  /** What `--json` prints, the last of what was watched; absent where nothing was printed. */
  answer?: unknown;
  complaint: string;
}

/** One command of leadctl on a running stack, as a person would give it. */
export function runLeadctl(runDir: string, ...command: string[]): Promise<LeadctlRun> {
  const main = join(projectRoot(), 'dist', 'apps', 'leadctl', 'src', 'main.js');
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...command, '--json', '--run-dir', runDir], { timeout: 60_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code ?? -1);
      resolve({ code, complaint: stderr, ...(stdout !== '' && { answer: lastOf(stdout) }) });
    });
  });
}

/** Whatever lies within a document is indented. */
const lastOf = (documents: string): unknown => JSON.parse(documents.split(/\n(?=[{[])/).at(-1) ?? '');
