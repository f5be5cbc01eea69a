import type { Command } from 'commander';
import { aReason } from './a-reason.js';
import { askOperator } from './commands/dead-letters.js';
import { exitCodes } from './exit-codes.js';
import { findInstallation } from './installation.js';
import type { Line, Output } from './output.js';
import { discardDelivery, findingOf, giveEvidence, lookupDelivery } from './rest/delivery-commands.js';
import { decideDestination, listDestinations, testDestination } from './rest/other-commands.js';
import { addRestCommand, orAsPerson, type RestCommand } from './rest/rest-command.js';

interface Context {
  output(): Output;
  env: NodeJS.ProcessEnv;
  ended(code: number): void;
}

interface Decided {
  runDir?: string;
  by?: string;
  reason?: string;
}

interface Answer {
  applied: boolean;
  reason?: string;
  state?: string;
  absence_counts_from?: string;
}

const runDirHelp = 'directory of a running instance (default: INTERNAL_URLS and LD_SECRETS_DIR if set, else .run)';

const sinceHelp = 'when the hold began that you saw (`destinations list --json`); refused where it is another by now';

/** Commands of a person to the services that own destinations and deliveries. All go through the operator service, which keeps who said so. */
export function addCommands(program: Command, context: Context): void {
  const destinations = program.command('destinations').description('whether destinations are sent to, and holding them');
  addDestinationList(destinations, context);
  decided(
    destinations
      .command('hold <name>')
      .description('send nothing there until it is released; leads wait and age')
      .option('--since <time>', sinceHelp),
    context,
    (name, _, { since }) => ({ command: 'hold', destination: name, since }),
    decideDestination('hold'),
  );
  decided(
    destinations.command('release <name>').description('send there again; probes come first').option('--since <time>', sinceHelp),
    context,
    (name, _, { since }) => ({ command: 'release', destination: name, since }),
    decideDestination('release'),
  );
  addRestCommand(destinations, testDestination, context);
  const deliveries = program.command('deliveries').description('what a person decides about one delivery');
  addRestCommand(deliveries, lookupDelivery, context);
  addDiscard(deliveries, context);
  addEvidence(deliveries, context);
}

interface Destination {
  destination: string;
  mode: string;
  reason?: string;
  hold?: { by: string; reason: string; at: string };
  open_until?: string;
}

function addDestinationList(destinations: Command, context: Context): void {
  const list = destinations
    .command('list')
    .description('every destination that was ever sent to or held; as a person, all that you may see with latency and backlog')
    .option('--run-dir <dir>', runDirHelp);
  const otherwise = async (): Promise<void> => {
    const { runDir } = list.opts<{ runDir?: string }>();
    const answer = await askOperator<{ items: Destination[] }>(findInstallation(runDir, context.env), 'destinations:state', {});
    const lines = answer.items.map(
      ({ destination, mode, reason = '', hold, open_until = '' }): Line => ({
        destination,
        mode,
        reason: hold === undefined ? reason : `held by ${hold.by}: ${hold.reason}`,
        until: open_until,
      }),
    );
    context.output().document(answer, lines.length === 0 ? [{ result: 'no destinations yet' }] : lines);
  };
  orAsPerson(list, listDestinations, { context, otherwise });
}

function addDiscard(deliveries: Command, context: Context): void {
  const command = deliveries
    .command('discard <event-id> <destination>')
    .description('end it for good: nothing is sent any more')
    .option(
      '--evidence <reference>',
      'where the proof is kept; needed where something may have happened at the destination',
      aReason('--evidence', 200),
    );
  decided(
    command,
    context,
    (eventId, destination, { evidence }) => ({ command: 'discard', event_id: eventId, destination, evidence }),
    discardDelivery,
  );
}

function addEvidence(deliveries: Command, context: Context): void {
  const command = deliveries
    .command('evidence <event-id> <destination>')
    .description('say what was found at the destination about an uncertain operation')
    .requiredOption('--operation-key <key>', 'as `dead-letters show --json` names it')
    .option('--found <reference>', 'it is there, under this reference of the destination')
    .option('--absent', 'it is not there: it is sent again under the same key');
  decided(
    command,
    context,
    (eventId, destination, options) => ({
      command: 'evidence',
      event_id: eventId,
      destination,
      operation_key: options.operationKey,
      finding: findingOf(options),
    }),
    giveEvidence,
  );
}

type Words = Record<string, string | undefined>;

/** What is in the way, by its name and in words where it has some. */
function whyNot({ reason = 'no reason given', absence_counts_from: from = 'a while' }: Answer, service = ''): string {
  const words: Readonly<Record<string, string>> = {
    unknown_destination: `the site file of ${service} has no such destination or channel`,
    unknown_delivery: `${service} has no such delivery`,
    not_in_this_state: 'the delivery is in another state',
    changed_meanwhile: 'somebody has held or released it since',
    too_early: `the call may still take effect: look again after ${from}`,
  };
  return words[reason] === undefined ? reason : `${reason} (${words[reason]})`;
}

/** Adds who and why to a command, sends it, prints what came of it; exit 3 when it did not fit the state. */
// eslint-disable-next-line @typescript-eslint/max-params -- a command, what it is in, and its two doors
function decided(
  command: Command,
  context: Context,
  toBody: (first: string, second: string, options: Words) => object,
  asPerson?: Pick<RestCommand<unknown>, 'call' | 'lines'>,
): void {
  command
    .option('--by <name>', 'who decided it, where no token says so; kept in the audit')
    .requiredOption('--reason <text>', 'why, up to 200 characters; kept in the audit', aReason('--reason', 200))
    .option('--service <name>', 'crm-writer or notifier', 'crm-writer')
    .option('--run-dir <dir>', runDirHelp);
  const otherwise = (): Promise<void> => sendInside(command, context, toBody);
  if (asPerson === undefined) command.action(otherwise);
  else orAsPerson(command, asPerson, { context, otherwise });
}

async function sendInside(
  command: Command,
  { output, env, ended }: Context,
  toBody: (first: string, second: string, options: Words) => object,
): Promise<void> {
  const options = command.opts<Decided & Words>();
  const [first, second] = command.args as [string, string];
  const { by, reason, runDir, service } = options;
  if (by === undefined) command.error("error: required option '--by <name>' not specified");
  const body = { service, command: { ...toBody(first, second, options), by, reason } };
  const answer = await askOperator<Answer>(findInstallation(runDir, env), 'commands:send', body);
  const result = answer.applied ? (answer.state ?? 'done') : `nothing was changed: ${whyNot(answer, service)}`;
  output().document(answer, [{ what: command.args.join(' '), result }]);
  if (!answer.applied) ended(exitCodes.found);
}
