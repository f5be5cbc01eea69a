import type { Command } from 'commander';
import { askOperator } from './commands/dead-letters.js';
import { exitCodes } from './exit-codes.js';
import { findInstallation } from './installation.js';
import { readTextFile } from './read-text-file.js';
import { batchCommands } from './rest/batch-commands.js';
import { correctionCommands } from './rest/correction-commands.js';
import { leadCommands, search } from './rest/lead-commands.js';
import { type AuditReport, auditCommands, auditLines, erasureCommands, me, verifyAudit } from './rest/other-commands.js';
import { addLive, overview } from './rest/overview-commands.js';
import { queueCommands } from './rest/queue-commands.js';
import { reconcileCommands } from './rest/reconcile-commands.js';
import { addRestCommand, type Context, orAsPerson, type RestCommand } from './rest/rest-command.js';

/** Commands of people: each asks the REST API of the operator service as one person, and the audit knows who it was. */
export function addRest(program: Command, context: Context): void {
  addRestCommand(program, search, context);
  addRestCommand(program, me, context);
  addRestCommand(program, overview, context);
  addLive(program, context);
  addAll(program.command('lead').description('one lead'), leadCommands, context);
  addAll(program.command('queues').description('what waits for a decision, as a person'), queueCommands, context);
  addAll(program.command('reconcile').description('comparing what was delivered with what destinations hold'), reconcileCommands, context);
  addAll(program.command('corrections').description('correcting what a lead says'), correctionCommands, context);
  addAll(program.command('erasures').alias('erase').description('erasing a person, with proof'), erasureCommands, context);
  const audit = program.command('audit').description('who decided what');
  addAll(audit, auditCommands, context);
  addVerify(audit, context);
}

/** Adds the commands of a group that are there already. */
function addAll(group: Command, commands: readonly RestCommand<never>[], context: Context): void {
  for (const command of commands) addRestCommand(group, command, context);
}

/** Those of batches stand beside what the internal API offers. */
export function addBatchCommands(batches: Command, context: Context): void {
  addAll(batches, batchCommands, context);
}

/** With the keys of the installation a head that was kept elsewhere can be checked against. */
function addVerify(audit: Command, context: Context): void {
  const verify = audit
    .command('verify')
    .description('whether the audit was changed since it was written; exit 3 when it was')
    .option('--head <file>', 'a signed head that was kept elsewhere (default: the one that the service exported)')
    .option('--run-dir <dir>', 'directory of a running instance (default: INTERNAL_URLS and LD_SECRETS_DIR if set, else .run)');
  orAsPerson(verify, verifyAudit, {
    context,
    otherwise: async () => {
      const { head, runDir } = verify.opts<{ head?: string; runDir?: string }>();
      const body = head === undefined ? {} : { head: readTextFile('--head', head, context.env) };
      const report = await askOperator<AuditReport>(findInstallation(runDir, context.env), 'audit:verify', body);
      context.output().document(report, auditLines(report));
      if (!report.ok) context.ended(exitCodes.found);
    },
  });
}
