import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { Balance } from '#delivery';
import { projectRoot } from '#testkit';

export interface BalanceRun {
  /** Exit code. */
  code: number;
  /** Absent where none could be taken. */
  balance?: Balance;
  complaint: string;
}

/** `leadctl balance --json` on a running stack, as a person would run it. */
export function runBalance(runDir: string): Promise<BalanceRun> {
  const main = join(projectRoot(), 'dist', 'apps', 'leadctl', 'src', 'main.js');
  return new Promise((resolve) => {
    execFile(process.execPath, [main, 'balance', '--json', '--run-dir', runDir], { timeout: 60_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code ?? -1);
      resolve({ code, complaint: stderr, ...(stdout !== '' && { balance: JSON.parse(stdout) as Balance }) });
    });
  });
}
