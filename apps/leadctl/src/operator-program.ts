import { type Command, InvalidArgumentError } from 'commander';
import { failureClasses } from '#contracts';
import { duration } from '#runtime';
import { aReason } from './a-reason.js';
import {
  type Approval,
  approvalLines,
  askOperator,
  type Batch,
  batchLines,
  courseLines,
  type DeadLetter,
  type DeadLetterDetail,
  type Dismissal,
  deadLetterLines,
  dismissalLine,
} from './commands/dead-letters.js';
import { exitCodes } from './exit-codes.js';
import { findInstallation, type Installation } from './installation.js';
import type { Output } from './output.js';
import { showBatch, stopBatch } from './rest/batch-commands.js';
import { dismissGroup, dismissLetter, listLetters, showLetter } from './rest/queue-commands.js';
import { addRestCommand, moreLines, orAsPerson } from './rest/rest-command.js';
import { addBatchCommands } from './rest-program.js';

interface Context {
  output(): Output;
  env: NodeJS.ProcessEnv;
  ended(code: number): void;
}

const runDirHelp = 'directory of a running instance (default: INTERNAL_URLS and LD_SECRETS_DIR if set, else .run)';

/** Commands about what ended without its effect: look, approve, follow, stop. All go through the operator service. */
export function addOperator(program: Command, context: Context): void {
  const letters = program.command('dead-letters').description('what ended without its effect and waits for a decision');
  addList(letters, context);
  addShow(letters, context);
  addDismiss(letters, context);
  addRestCommand(letters, dismissGroup, context);
  addApprove(program.command('items').description('deliveries that are tried again because somebody said so'), context);
  const batches = program.command('batches').description('approved items that belong together');
  addBatches(batches, context);
  addBatchCommands(batches, context);
}

interface RunDir {
  runDir?: string;
}
const installationOf = ({ runDir }: RunDir, { env }: Context): Installation => findInstallation(runDir, env);

function addList(letters: Command, context: Context): void {
  const list = letters
    .command('list')
    .description('dead letters in the order in which they came')
    .option('--destination <name>', 'only of this destination')
    .option('--class <class>', 'only of this failure class', aClass)
    .option('--state <state>', 'open, closed or any', 'open')
    .option('--after <cursor>', 'the `next` of the page before')
    .option('--limit <n>', 'at most so many, up to 200', upTo(200), 50)
    .option('--run-dir <dir>', runDirHelp);
  const otherwise = async (): Promise<void> => {
    const { runDir, ...filter } = list.opts<RunDir & Record<string, string | number>>();
    const page = await askOperator<{ items: DeadLetter[]; next?: string }>(
      installationOf({ runDir }, context),
      'dead-letters:list',
      filter,
    );
    const lines = [...deadLetterLines(page.items), ...moreLines('id', page.next)];
    context.output().document(page, lines.length === 0 ? [{ result: 'no dead letters' }] : lines);
  };
  orAsPerson(list, listLetters, { context, otherwise });
}

function addShow(letters: Command, context: Context): void {
  const show = letters
    .command('show <event-id>')
    .description('every dead letter of one lead with its calls; exit 3 when there is none')
    .option('--run-dir <dir>', runDirHelp);
  const otherwise = async (): Promise<void> => {
    const body = { event_id: show.args[0] };
    const { items } = await askOperator<{ items: DeadLetterDetail[] }>(installationOf(show.opts(), context), 'dead-letters:show', body);
    context.output().document({ items }, courseLines(items));
    if (items.length === 0) context.ended(exitCodes.found);
  };
  orAsPerson(show, showLetter, { context, otherwise });
}

function addDismiss(letters: Command, context: Context): void {
  const dismiss = letters
    .command('dismiss <dead-letter-id>')
    .description('you have dealt with a lead whose letter nothing else can close; exit 3 when its delivery decides, not you')
    .option('--by <name>', 'who dealt with it, where no token says so; kept in the audit')
    .requiredOption('--reason <text>', 'how, up to 500 characters; kept in the audit', aReason('--reason'))
    .option('--run-dir <dir>', runDirHelp);
  const linesOf = (dismissal: Dismissal) => [dismissalLine(dismiss.args[0] ?? '', dismissal)];
  const otherwise = async (): Promise<void> => {
    const { by, reason, ...options } = dismiss.opts<RunDir & { by?: string; reason: string }>();
    if (by === undefined) dismiss.error("error: required option '--by <name>' not specified");
    const body = { dead_letter_id: dismiss.args[0], by, reason };
    const dismissal = await askOperator<Dismissal>(installationOf(options, context), 'dead-letters:dismiss', body);
    context.output().document(dismissal, linesOf(dismissal));
    if (!dismissal.dismissed) context.ended(exitCodes.found);
  };
  orAsPerson(dismiss, { ...dismissLetter, lines: linesOf }, { context, otherwise });
}

interface ApproveOptions extends RunDir {
  destination?: string;
  class?: string;
  eventId?: string[];
  deadline: string;
  max: number;
  approver?: string;
  reason?: string;
}

/** How an approval is asked for through either door. */
const approvalOf = ({ destination, class: failure, eventId, deadline, max, reason }: ApproveOptions) => ({
  reason,
  new_deadline: deadline,
  max,
  select: { destination, class: failure, event_ids: eventId },
});
const approvedLines = (approval: Approval) => {
  const lines = approvalLines(approval);
  return lines.length === 0 ? [{ result: approval.reason ?? 'no open dead letter fits' }] : lines;
};

function addApprove(items: Command, context: Context): void {
  const approve = items
    .command('approve')
    .description('try dead deliveries again, oldest first, each once under its old keys; exit 3 when none could be approved')
    .option('--destination <name>', 'only of this destination')
    .option('--class <class>', 'only of this failure class', aClass)
    .option('--event-id <id...>', 'only these leads')
    .requiredOption('--deadline <duration>', 'new deadline from now on, such as 4h', aDuration)
    .option('--max <n>', 'at most so many, up to 50', upTo(50), 50)
    .option('--approver <name>', 'who decided it, where no token says so; kept with the batch')
    .option('--reason <text>', 'why, up to 500 characters; kept with the batch', aReason('--reason'))
    .option('--run-dir <dir>', runDirHelp);
  const asPerson = {
    call: () => ({ method: 'POST', path: 'items/approve', body: approvalOf(approve.opts()) }) as const,
    lines: approvedLines,
    found: ({ approved }: Approval) => approved === 0,
  };
  const otherwise = async (): Promise<void> => {
    const options = approve.opts<ApproveOptions>();
    const { approver } = options;
    if (approver === undefined) approve.error("error: required option '--approver <name>' not specified");
    const body = { approver, ...approvalOf(options) };
    const approval = await askOperator<Approval>(installationOf(options, context), 'items:approve', body);
    context.output().document(approval, approvedLines(approval));
    if (approval.approved === 0) context.ended(exitCodes.found);
  };
  orAsPerson(approve, asPerson, { context, otherwise });
}

function addBatches(batches: Command, context: Context): void {
  const show = batches
    .command('show <batch-id>')
    .description('a batch and what became of each item; exit 3 when there is none')
    .option('--run-dir <dir>', runDirHelp);
  const showInside = async (): Promise<void> => {
    const body = { batch_id: show.args[0] };
    const { batch } = await askOperator<{ batch: Batch | null }>(installationOf(show.opts(), context), 'batches:show', body);
    if (batch === null) context.ended(exitCodes.found);
    context.output().document({ batch }, batch === null ? [] : batchLines(batch));
  };
  orAsPerson(show, { call: showBatch.call, lines: showBatch.lines }, { context, otherwise: showInside });
  addStop(batches, context);
}

function addStop(batches: Command, context: Context): void {
  const stop = batches
    .command('stop <batch-id>')
    .description('no further item of it is begun; every service knows within 5 s; exit 3 when it had ended before')
    .option('--by <name>', 'who stops it, where the token does not say so; kept with the batch')
    .option('--reason <text>', 'why, as a person; kept in the audit', aReason('--reason'))
    .option('--run-dir <dir>', runDirHelp);
  const otherwise = async (): Promise<void> => {
    const { by, ...options } = stop.opts<RunDir & { by?: string }>();
    if (by === undefined) stop.error("error: required option '--by <name>' not specified");
    const body = { batch_id: stop.args[0], by };
    const { stopped } = await askOperator<{ stopped: boolean }>(installationOf(options, context), 'batches:stop', body);
    context.output().table([{ what: `batch ${stop.args[0]}`, result: stopped ? 'stopped' : 'had ended before' }], '');
    if (!stopped) context.ended(exitCodes.found);
  };
  orAsPerson(stop, stopBatch, { context, otherwise });
}

function upTo(most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value > 0 && value <= most) return value;
    throw new InvalidArgumentError(`Write a whole number from 1 to ${most}.`);
  };
}

function aDuration(text: string): string {
  if (duration.safeParse(text).success) return text;
  throw new InvalidArgumentError('Write a number and a unit, such as 90s, 30m or 4h.');
}

function aClass(text: string): string {
  if ((failureClasses as readonly string[]).includes(text)) return text;
  throw new InvalidArgumentError(`Choose of ${failureClasses.join(', ')}.`);
}
