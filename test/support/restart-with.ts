import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, runPaths, type Stack, writeJsonFile } from '#testkit';

export interface Restart {
  app: string;
  signal: NodeJS.Signals;
  /** Variables of the next process alone. */
  env: Record<string, string>;
  /** Done between the end of the one and the start of the other. */
  whileDown?: () => Promise<void> | void;
}

const startLimitMs = 60_000;

/** Ends an app and has the launcher start it with other variables; returns when the new process is there, ready or not. */
export async function restartWith(stack: Stack, { app, signal, env, whileDown }: Restart): Promise<void> {
  const { hold, once } = runPaths(stack.runDir);
  const holdFile = join(hold, app);
  const onceFile = join(once, app);
  mkdirSync(hold, { recursive: true });
  writeFileSync(holdFile, '');
  writeJsonFile(onceFile, env);
  try {
    await stack.kill(app, signal);
    await whileDown?.();
  } finally {
    rmSync(holdFile, { force: true });
  }
  await eventually(`${app} to be started anew`, () => !existsSync(onceFile), { timeoutMs: startLimitMs });
}
