import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { ConfigError } from '#runtime';
import { aReason } from '../a-reason.js';
import { exitCodes } from '../exit-codes.js';
import type { Line, Output } from '../output.js';
import { namesPerson, type PersonOptions, restClient, withPerson } from './person-door.js';
import type { RestCall } from './rest-client.js';

export interface Context {
  output(): Output;
  env: NodeJS.ProcessEnv;
  ended(code: number): void;
}

export type Words = Record<string, string | string[] | boolean | undefined>;

/** Asks the REST API for what a command has to know before. */
export type Ask = <T>(call: RestCall) => Promise<T>;

/** One command of a person: what it asks of the REST API and what it prints. */
export interface RestCommand<T> {
  /** `show <event-id>`, as commander reads it. */
  usage: string;
  about: string;
  /** Flags, help and, where it has one, default. */
  options?: readonly (readonly [flags: string, help: string, fallback?: string])[];
  /** It changes something: a reason is required. */
  reason?: boolean;
  call(words: readonly string[], options: Words, ask: Ask): RestCall | Promise<RestCall>;
  /** The call for the rest, where the answer is about a part. With `sum`: what both answers say together. */
  more?(answer: T, call: RestCall): RestCall | undefined;
  sum?(one: T, other: T): T;
  lines(answer: T): Line[];
  /** Said where there is no line. */
  empty?: string;
  /** The answer is text that is printed as it came. */
  raw?: boolean;
  /** True: there is something that a person must see to, exit 3. */
  found?(answer: T): boolean;
  /** True: what was asked for may be with a service that does not answer, exit 4; looked at before `found`. */
  away?(answer: T): boolean;
  /** With --watch it is asked again and again; until this says that it is over. Absent: it cannot be watched. */
  over?: (answer: T) => boolean;
}

const watchEveryMs = 2_000;

/** Adds one command to a group. Rejects with RestRefused, RestUnavailable, ConfigError. */
export function addRestCommand<T>(group: Command, command: RestCommand<T>, context: Context): void {
  const added = withPerson(group.command(command.usage).description(command.about));
  for (const option of command.options ?? []) added.option(...option);
  if (command.reason) added.requiredOption('--reason <text>', 'why; kept in the audit', aReason('--reason'));
  if (command.over !== undefined)
    added.option('--watch', 'ask again every 2 s until it is over; with --json a line each', command.usage.startsWith('watch '));
  added.action(async () => runRest(command, { words: added.args, options: added.opts() }, context));
}

/** Asks, prints, and sets the exit code; with `watch` until it is over. */
async function runRest<T>(
  command: Pick<RestCommand<T>, 'call' | 'more' | 'sum' | 'lines' | 'empty' | 'found' | 'away' | 'over' | 'raw'>,
  { words, options }: { words: readonly string[]; options: Words & PersonOptions },
  { output, env, ended }: Context,
): Promise<void> {
  const client = restClient(options, env);
  const call = await command.call(words, options, (asked) => client.call(asked));
  for (;;) {
    let answer: T = await client.call<T>(call);
    for (let rest = command.more?.(answer, call); rest !== undefined; rest = command.more?.(answer, call)) {
      const other = await client.call<T>(rest);
      answer = command.sum?.(answer, other) ?? other;
    }
    print(command, answer, { output: output(), line: options.watch === true });
    const over = options.watch !== true || (command.over?.(answer) ?? true);
    if (over) {
      if (command.away?.(answer)) ended(exitCodes.unreachable);
      else if (command.found?.(answer)) ended(exitCodes.found);
      return;
    }
    await delay(watchEveryMs);
  }
}

function print<T>(
  { raw, lines: linesOf, empty = 'nothing' }: Pick<RestCommand<T>, 'lines' | 'empty' | 'raw'>,
  answer: T,
  { output, line }: { output: Output; line: boolean },
): void {
  if (raw) {
    process.stdout.write(String(answer));
    return;
  }
  const lines = linesOf(answer);
  output.document(answer as object, lines.length === 0 ? [{ result: empty }] : lines, line ? 'line' : 'indented');
}

/**
 * Lets a command of the internal API go to the REST API where a person is named: then the audit has the person's subject, and what the person may
 * not do is refused.
 */
export function orAsPerson<T>(
  added: Command,
  command: Pick<RestCommand<T>, 'call' | 'lines' | 'empty' | 'found'>,
  { context, otherwise }: { context: Context; otherwise: () => Promise<void> },
): void {
  withPerson(added, { runDir: false }).action(async () => {
    const options: Words & PersonOptions = added.opts();
    if (namesPerson(options, context.env)) await runRest(command, { words: added.args, options }, context);
    else await otherwise();
  });
}

/** How to go on where a list has more, in its first column; nothing on the last page. */
export const moreLines = (column: string, next: string | null | undefined): Line[] =>
  next == null ? [] : [{ [column]: `more: --after ${next}` }];

/** Services whose part of the answer is missing, in its first column. */
export const awayLines = (column: string, unavailable: readonly string[] = []): Line[] =>
  unavailable.map((service) => ({ [column]: `${service} does not answer` }));

/** A part of a path. */
export const part = (text = ''): string => encodeURIComponent(text);

/** What was typed or piped in: it stands in no list of processes and no history. */
export async function readTyped(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin) text += String(chunk);
  return text.trim();
}

/** A document that was typed or piped in. Throws ConfigError, which does not repeat it. */
export async function readJson(): Promise<unknown> {
  const typed = await readTyped();
  try {
    return JSON.parse(typed) as unknown;
  } catch {
    throw new ConfigError([
      { path: 'standard input', problem: 'is no JSON', fix: 'Write {"email": "…"}, with the fields as they should be' },
    ]);
  }
}

/** A text option. */
export function text(options: Words, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

/** Text options under their own names. */
export const named = (options: Words, names: readonly string[]): Record<string, string | undefined> =>
  Object.fromEntries(names.map((name) => [name, text(options, name)]));

/** Whether `--no-…` was given of an option. Beside an option with a value, commander says so by `false` in its place. */
const without = (options: Words, name: string): boolean => options[name] === false;

/** Of a failure: the provider's code and the schema of the record, or that there is none. For {@link causeOf}. */
export const causeOptions = [
  ['--code <code>', "only with this code of the provider's"],
  ['--no-code', 'only what has no code'],
  ['--schema-id <id>', 'only of this schema, by its id in the registry'],
  ['--no-schema-id', 'only what could not be read as far as the id of its schema'],
] as const;

/** What {@link causeOptions} ask for. `yes`: how the API takes that something is absent. */
export function causeOf<Yes extends 'true' | true>(options: Words, yes: Yes) {
  return {
    code: text(options, 'code'),
    ...(without(options, 'code') && { no_code: yes }),
    schema_id: number(options, 'schemaId'),
    ...(without(options, 'schemaId') && { no_schema_id: yes }),
  };
}

/** An option that may be given several times; absent where it was not. */
export function texts(options: Words, name: string): string[] | undefined {
  const value = options[name];
  return Array.isArray(value) ? value : undefined;
}

/** A whole number. Left as it is otherwise: the service says what is wrong with it. */
export function number(options: Words, name: string): number | string | undefined {
  const value = text(options, name);
  return value === undefined || Number.isNaN(Number(value)) ? value : Number(value);
}
