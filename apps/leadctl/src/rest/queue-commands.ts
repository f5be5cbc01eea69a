import { courseLines, type DeadLetter, type DeadLetterDetail, type Dismissal, deadLetterLines } from '../commands/dead-letters.js';
import type { Line } from '../output.js';
import { type Blocked, blockedLines } from './blocked-lines.js';
import {
  type Ask,
  awayLines,
  causeOf,
  causeOptions,
  moreLines,
  named,
  number,
  part,
  type RestCommand,
  text,
  texts,
  type Words,
} from './rest-command.js';

interface Group {
  key: string;
  class: string;
  destination: string | null;
  code: string | null;
  schema_id: number | null;
  count: number;
  first_at: string;
  last_at: string;
  /** Of the last 24 hours, the oldest first. */
  trend: number[];
  owner: string;
  respond_by: string;
  overdue: number | boolean;
  disposition: string;
  runbook?: string;
}
/** What a list of `held` and `uncertain` cannot show. */
interface Beside {
  blocked?: Blocked[];
  unavailable?: string[];
}
const besideLines = (column: string, { blocked, unavailable }: Beside): Line[] => [
  ...blockedLines(column, blocked),
  ...awayLines(column, unavailable),
];

interface Groups extends Beside {
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
  ...causeOptions,
  ['--owner <owner>', 'only of this owner'],
  ['--organization <name>', 'only of this organization'],
] as const;
const filterOf = (options: Words) => ({
  ...named(options, ['destination', 'class', 'owner', 'organization']),
  ...causeOf(options, 'true'),
});

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

/** The last 24 hours in few characters: most came in the hour with the highest bar. */
function trendOf(counts: readonly number[]): string {
  const bars = '▁▂▃▄▅▆▇█';
  const most = Math.max(1, ...counts);
  return counts.map((count) => (count === 0 ? '·' : bars.charAt(Math.ceil((count / most) * bars.length) - 1))).join('');
}

const groupLine = (group: Group, as_of: string): Line => ({
  group: group.key,
  class: group.class,
  destination: group.destination ?? '',
  code: group.code ?? '',
  schema_id: group.schema_id ?? '',
  count: group.count,
  last_24_hours: trendOf(group.trend),
  first_at: group.first_at,
  last_at: group.last_at,
  owner: group.owner,
  respond_by: group.respond_by,
  overdue: Number(group.overdue) > 0,
  disposition: group.disposition,
  runbook: group.runbook ?? '',
  as_of,
});

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
      ...named(options, ['tab', 'state', 'order', 'after', 'limit']),
    },
  }),
  lines: ({ items, next, ...beside }) => [...deadLetterLines(items), ...moreLines('id', next), ...besideLines('id', beside)],
  empty: 'no dead letters',
  over: () => false,
} satisfies RestCommand<Beside & { items: DeadLetter[]; next?: string }>;

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
  about: 'what waits for a decision by what failed, the largest groups first',
  options: [['--tab <tab>', 'dead, held, uncertain, expired or all; default: all'], ...filters],
  call: (_words, options) => ({ method: 'GET', path: 'dead-letters/groups', query: { ...filterOf(options), tab: text(options, 'tab') } }),
  lines: ({ as_of, items, ...beside }) => [...items.map((group) => groupLine(group, as_of)), ...besideLines('group', beside)],
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

type Left = 'delivery_decides' | 'in_batch' | 'closed_before';
interface Dismissed {
  dismissed: number;
  left: Record<Left, number>;
  next?: string;
}

const leftWords: Readonly<Record<Left, string>> = {
  delivery_decides: 'left open: they close by what becomes of their delivery',
  in_batch: 'left open: they are in an approved batch',
  closed_before: 'were closed before by somebody else',
};

/** In the group `dead-letters`. Page after page, until all of the group was looked at. */
export const dismissGroup = {
  usage: 'dismiss-group <group>',
  about: 'as a person: you have dealt with all of a group, as `queues groups` names it; exit 3 when some of it stays open',
  reason: true,
  options: [
    ['--expected <n>', 'how many letters it had when you looked; with more than that nothing is dismissed'],
    ['--as-of <time>', 'the group as it was then, as `queues groups` says it; default: as it is shown before'],
  ],
  call: async ([key = ''], options, ask) => ({
    method: 'POST',
    path: 'dead-letters/dismiss',
    body: {
      group: { key, as_of: text(options, 'asOf') ?? (await shownNow(key, ask)) },
      expected: number(options, 'expected'),
      reason: text(options, 'reason'),
    },
  }),
  more: ({ next }, call) => (next === undefined ? undefined : { ...call, body: { ...call.body, after: next } }),
  sum: (one, other) => ({
    dismissed: one.dismissed + other.dismissed,
    left: Object.fromEntries((Object.keys(leftWords) as Left[]).map((why) => [why, one.left[why] + other.left[why]])) as Dismissed['left'],
    next: other.next,
  }),
  lines: ({ dismissed, left }) => [
    { result: 'dismissed', letters: dismissed },
    ...(Object.keys(leftWords) as Left[]).filter((why) => left[why] > 0).map((why) => ({ result: leftWords[why], letters: left[why] })),
  ],
  found: ({ left }) => left.delivery_decides + left.in_batch > 0,
} satisfies RestCommand<Dismissed>;

/** One letter, as a person. */
export const dismissLetter = {
  call: ([id], options) => ({ method: 'POST', path: `dead-letters/${part(id)}/dismiss`, body: { reason: text(options, 'reason') } }),
  found: ({ dismissed }) => !dismissed,
} satisfies Pick<RestCommand<Dismissal>, 'call' | 'found'>;

/** Group `queues`: all of it over the REST API. */
export const queueCommands = [listLetters, groups, showLetter, notes, assign, note, disposition] as readonly RestCommand<never>[];
