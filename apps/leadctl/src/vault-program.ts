import type { Command } from 'commander';
import { rewrapAll, rewrapLines } from './commands/rewrap.js';
import { exitCodes } from './exit-codes.js';
import { findInstallation } from './installation.js';
import type { Output } from './output.js';

interface Context {
  output(): Output;
  env: NodeJS.ProcessEnv;
  ended(code: number): void;
}

/** Commands about the sealed data. Progress goes to standard error, the result to standard output. */
export function addVault(program: Command, { output, env, ended }: Context): void {
  program
    .command('vault')
    .description('sealed personal data')
    .command('rewrap')
    .description('wrap every data key by the current key of the ring, so that older keys may leave it; safe to break off and repeat')
    .option('--run-dir <dir>', 'directory of a running instance (default: INTERNAL_URLS and LD_SECRETS_DIR if set, else .run)')
    .action(async ({ runDir }: { runDir?: string }) => {
      const result = await rewrapAll(findInstallation(runDir, env), (line) => process.stderr.write(`${line}\n`));
      output().document(result, rewrapLines(result));
      if (result.still_needed.length > 0) ended(exitCodes.found);
    });
}
