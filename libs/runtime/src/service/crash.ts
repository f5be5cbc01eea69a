import type { Logger } from '../logging/logger.js';
import { exitCodes, exitProcess } from './exit.js';

let current: Logger | undefined;

/**
 * Takes over the end of the process on an error nobody caught. Node's own output prints the message and every property of the error, which
 * may be a lead; ours is the reduced error. A later call exchanges the logger.
 */
export function exitOnUncaught(logger: Logger): void {
  const installed = current !== undefined;
  current = logger;
  if (installed) return;
  const end = (error: unknown) => {
    current?.fatal({ err: error }, 'Uncaught error');
    exitProcess(exitCodes.failed, current);
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}
