import type { Balance } from '#delivery';
import { runLeadctl } from './run-leadctl.js';

export interface BalanceRun {
  /** Exit code. */
  code: number;
  /** Absent where none could be taken. */
  balance?: Balance;
  complaint: string;
}

/** `leadctl balance --json` on a running stack, as a person would run it. */
export async function runBalance(runDir: string): Promise<BalanceRun> {
  const { code, answer, complaint } = await runLeadctl(runDir, 'balance');
  return { code, complaint, ...(answer !== undefined && { balance: answer as Balance }) };
}
