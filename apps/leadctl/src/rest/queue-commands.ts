import { courseLines, type DeadLetter, type DeadLetterDetail, deadLetterLines } from '../commands/dead-letters.js';
import { type Ask, part, type RestCommand, text, texts, type Words } from './rest-command.js';

interface Group {
  key: string;
  class: string;
  destination: string | null;
  code: string | null;
  count: number;
  first_at: string;
  last_at: string;
  owner: string;
  respond_by: string;
  overdue: number | boolean;
  disposition: string;
}
interface Groups {
  as_of: string;
  items: Group[];
}
interface Decided {
  /** How many letters it was about. */
  letters: number;
}

const filters = [
  ['--destination <name>', 'only of this destination'],
  ['--class <class>', 'only of this failure class'],
  ['--code <code>', "only with this code of the provider's"],
  ['--owner <owner>', 'only of this owner'],
  ['--organization <name>', 'only of this organization'],
] as const;
const filterOf = (options: Words) =>
  Object.fromEntries(['destination', 'class', 'code', 'owner', 'organization'].map((name) => [name, text(options, name)]));

const targets = [
  ['--id <id...>', 'these dead letters'],
  ['--group <key>', 'all open ones of a group, as `queues groups` names it'],
  ['--as-of <time>', 'the group as it was then, as `queues groups` says it; default: as it is shown before the decision'],
] as const;

/** Letters by id, or a group as of a moment: what comes later is not decided unseen. */
async function targetOf(options: Words, ask: Ask): Promise<object> {
  const key = text(options, 'group');
  const as_of = text(options, 'asOf');
  const ids = texts(options, 'id');
  if (key === undefined) return { ids };
  return { ids, group: { key, as_of: as_of ?? (await shownNow(key, ask)) } };
}

/** Shows the group on standard error; gives the moment it was shown as of. */
async function shownNow(key: string, ask: Ask): Promise<string> {
  const { as_of, items } = await ask<Groups>({ method: 'GET', path: 'dead-letters/groups', query: { group: key } });
  for (const { class: failure, destination, code, count } of items)
    process.stderr.write(`${[count, 'of', failure, destination, code].filter(Boolean).join(' ')}, as of ${as_of}\n`);
  return as_of;
}

const decidedLines = ({ letters }: Decided) => [{ result: 'done', letters }];

export const listLetters = {
  usage: 'list',
  about: 'what waits for a decision: dead, held, uncertain, expired',
  options: [
    ['--tab <tab>', 'dead, held, uncertain, expired or all', 'all'],
    ...filters,
    ['--state <state>', 'open, closed or any'],
    ['--order <order>', 'oldest, newest or due'],
    ['--after <cursor>', 'the `next` of the page before'],
    ['--limit <n>', 'at most so many'],
  ],
  call: (_words, options) => ({
    method: 'GET',
    path: 'dead-letters',
    query: {
      ...filterOf(options),
      ...Object.fromEntries(['tab', 'state', 'order', 'after', 'limit'].map((name) => [name, text(options, name)])),
    },
  }),
  lines: ({ items, next }) => [...deadLetterLines(items), ...(next === undefined ? [] : [{ id: `more: --after ${next}` }])],
  empty: 'no dead letters',
  over: () => false,
} satisfies RestCommand<{ items: DeadLetter[]; next?: string }>;

export const showLetter = {
  usage: 'show <event-id>',
  about: 'every dead letter of one lead with its calls; exit 3 when there is none',
  call: ([id]) => ({ method: 'GET', path: `dead-letters/${part(id)}` }),
  lines: ({ items }) => courseLines(items),
  empty: 'no dead letters',
  found: ({ items }) => items.length === 0,
} satisfies RestCommand<{ items: DeadLetterDetail[] }>;

const groups = {
  usage: 'groups',
  about: 'open dead letters by what failed, the largest groups first',
  options: filters,
  call: (_words, options) => ({ method: 'GET', path: 'dead-letters/groups', query: filterOf(options) }),
  lines: ({ as_of, items }) =>
    items.map(({ key, class: failure, destination, code, count, first_at, last_at, owner, respond_by, overdue, disposition }) => ({
      group: key,
      class: failure,
      destination: destination ?? '',
      code: code ?? '',
      count,
      first_at,
      last_at,
      owner,
      respond_by,
      overdue: Number(overdue) > 0,
      disposition,
      as_of,
    })),
  empty: 'no dead letters',
  over: () => false,
} satisfies RestCommand<Groups>;

const notes = {
  usage: 'notes <dead-letter-id>',
  about: 'notes on a dead letter, the oldest first',
  call: ([id]) => ({ method: 'GET', path: `dead-letters/${part(id)}/notes` }),
  lines: ({ items }) => items.map(({ at, by, text: said }) => ({ at, by, text: said })),
  empty: 'no notes',
} satisfies RestCommand<{ items: { at: string; by: string; text: string }[] }>;

const assign = {
  usage: 'assign',
  about: 'say who looks after dead letters',
  reason: true,
  options: [...targets, ['--to <subject>', 'subject of a person; absent: nobody']],
  call: async (_words, options, ask) => ({
    method: 'POST',
    path: 'dead-letters/assign',
    body: { ...(await targetOf(options, ask)), assignee: text(options, 'to') ?? null, reason: text(options, 'reason') },
  }),
  lines: decidedLines,
} satisfies RestCommand<Decided>;

const note = {
  usage: 'note <text>',
  about: 'write a note on dead letters; no addresses or numbers of leads',
  options: targets,
  call: async ([said], options, ask) => ({
    method: 'POST',
    path: 'dead-letters/note',
    body: { ...(await targetOf(options, ask)), text: said },
  }),
  lines: decidedLines,
} satisfies RestCommand<Decided>;

const disposition = {
  usage: 'disposition <disposition>',
  about: 'say what shall become of dead letters',
  options: targets,
  reason: true,
  call: async ([wanted], options, ask) => ({
    method: 'POST',
    path: 'dead-letters/disposition',
    body: { ...(await targetOf(options, ask)), disposition: wanted, reason: text(options, 'reason') },
  }),
  lines: decidedLines,
} satisfies RestCommand<Decided>;

/** Group `queues`: all of it over the REST API. */
export const queueCommands = [listLetters, groups, showLetter, notes, assign, note, disposition] as readonly RestCommand<never>[];
