import type { Logger } from '../logging/logger.js';

/** What the supervisor reads: 2 is pointless to repeat, 1 is not. */
export const exitCodes = { stopped: 0, failed: 1, misconfigured: 2 } as const;

/** Writes out the log and ends the process, whatever still holds it open. */
export function exitProcess(code: number, logger?: Logger): never {
  try {
    logger?.flush();
  } catch {
    // Standard output is gone or full; nothing is left to tell.
  }
  process.exit(code);
}
