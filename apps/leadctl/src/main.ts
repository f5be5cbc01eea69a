import { CommanderError } from 'commander';
import { exitCodeOf, exitCodes } from './exit-codes.js';
import { createProgram } from './program.js';

const program = createProgram((code) => {
  process.exitCode = code;
});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** Commander has printed its own complaints already. Other errors are one line: a stack would help nobody at a prompt. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  const { message, code } = error as { message?: string; code?: string };
  process.stderr.write(`leadctl: ${[message, code].find((text) => text !== undefined && text !== '') ?? 'failed'}\n`);
  return exitCodeOf(error);
}
