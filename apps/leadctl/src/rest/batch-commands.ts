import type { Line } from '../output.js';
import { causeOf, causeOptions, moreLines, named, number, part, type RestCommand, text, texts } from './rest-command.js';

export interface BatchReport {
  batch_id: string;
  state: string;
  hash: string;
  author: string;
  approver?: string | null;
  stopped_by?: unknown;
  counts: Record<string, number>;
  canary?: { size: number; verified: number } | null;
  rate_now?: number | null;
  [more: string]: unknown;
}

const ended = new Set(['finished', 'stopped', 'expired']);

/** "Finished" says only that no item is under way: these did not have their effect, or nobody knows. */
const badly = ['failed', 'uncertain', 'not_applied'];
const notDelivered = ({ counts }: BatchReport): number => badly.reduce((sum, name) => sum + (counts[name] ?? 0), 0);
const stateOf = (batch: BatchReport): string =>
  batch.state === 'finished' && notDelivered(batch) > 0 ? `finished, ${notDelivered(batch)} not delivered` : batch.state;

const reportLines = (batch: BatchReport): Line[] => [
  { what: `batch ${batch.batch_id}`, result: stateOf(batch) },
  { what: 'author', result: batch.author },
  { what: 'approver', result: batch.approver ?? '' },
  { what: 'hash', result: batch.hash },
  ...Object.entries(batch.counts).map(([what, result]) => ({ what, result })),
  ...(batch.canary ? [{ what: 'canary', result: `${batch.canary.verified} of ${batch.canary.size} verified` }] : []),
  ...(batch.stopped_by
    ? [{ what: 'stopped by', result: typeof batch.stopped_by === 'string' ? batch.stopped_by : JSON.stringify(batch.stopped_by) }]
    : []),
];

const answerLines = (answer: Record<string, unknown>): Line[] =>
  Object.entries(answer)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([what, value]) => ({ what, result: typeof value === 'object' ? JSON.stringify(value) : String(value) }));

export const showBatch = {
  usage: 'watch <batch-id>',
  about: 'follow a batch until it has ended; exit 3 when it was stopped or expired, or when not all of it was delivered',
  call: ([id]) => ({ method: 'GET', path: `batches/${part(id)}` }),
  lines: reportLines,
  found: (batch) => batch.state === 'stopped' || batch.state === 'expired' || (batch.state === 'finished' && notDelivered(batch) > 0),
  over: ({ state }) => ended.has(state),
} satisfies RestCommand<BatchReport>;

export const stopBatch = {
  call: ([id], options) => ({ method: 'POST', path: `batches/${part(id)}/stop`, body: { reason: text(options, 'reason') } }),
  lines: answerLines,
} satisfies Pick<RestCommand<Record<string, unknown>>, 'call' | 'lines'>;

const list = {
  usage: 'list',
  about: 'replay batches, the newest first',
  options: [
    ['--state <state>', 'only in this state'],
    ['--after <cursor>', 'the `next` of the page before'],
    ['--limit <n>', 'at most so many'],
  ],
  call: (_words, options) => ({ method: 'GET', path: 'batches', query: named(options, ['state', 'after', 'limit']) }),
  lines: ({ items, next }) => [
    ...items.map(({ batch_id, state, author, approver, counts }) => ({ batch_id, state, author, approver: approver ?? '', ...counts })),
    ...moreLines('batch_id', next),
  ],
  empty: 'no batches',
} satisfies RestCommand<{ items: BatchReport[]; next?: string }>;

const draft = {
  usage: 'draft',
  about: 'freeze the open dead letters that fit into a draft; nothing is sent',
  reason: true,
  options: [
    ['--destination <name>', 'only of this destination'],
    ['--class <class>', 'only of this failure class'],
    ...causeOptions,
    ['--organization <name>', 'only of this organization'],
    ['--source <source>', 'only of this source'],
    ['--form <form>', 'only of this form'],
    ['--submitted-from <time>', 'only of leads submitted from this time on (ISO 8601)'],
    ['--submitted-to <time>', 'and before this one'],
    ['--dead-from <time>', 'only what ended from this time on (ISO 8601)'],
    ['--dead-to <time>', 'and before this one'],
    ['--event-id <id...>', 'only these leads'],
    ['--max <n>', 'items at most'],
    ['--new-deadline <duration>', 'from the approval on, such as 4h'],
    ['--rate <n>', 'items a second'],
    ['--concurrency <n>', 'items under way at once'],
    ['--max-duration <duration>', 'whatever has not begun then is not begun'],
    ['--canary <n>', 'items that go first and are looked up'],
  ],
  call: (_words, options) => ({
    method: 'POST',
    path: 'batches',
    body: {
      filter: {
        ...named(options, ['destination', 'class', 'organization', 'source', 'form']),
        ...causeOf(options, true),
        submitted_from: text(options, 'submittedFrom'),
        submitted_to: text(options, 'submittedTo'),
        dead_from: text(options, 'deadFrom'),
        dead_to: text(options, 'deadTo'),
        event_ids: texts(options, 'eventId'),
      },
      max: number(options, 'max'),
      new_deadline: text(options, 'newDeadline'),
      rate_per_s: number(options, 'rate'),
      concurrency: number(options, 'concurrency'),
      max_duration: text(options, 'maxDuration'),
      canary: number(options, 'canary'),
      reason: text(options, 'reason'),
    },
  }),
  lines: answerLines,
  found: ({ items }) => items === 0,
} satisfies RestCommand<Record<string, unknown>>;

const edit = {
  usage: 'edit <batch-id>',
  about: 'change a batch that has not begun; an approval of it is void then',
  reason: true,
  options: [
    ['--new-deadline <duration>', 'from the approval on, such as 4h'],
    ['--rate <n>', 'items a second'],
    ['--concurrency <n>', 'items under way at once'],
    ['--max-duration <duration>', 'whatever has not begun then is not begun'],
    ['--canary <n>', 'items that go first and are looked up'],
    ['--exclude <event-id...>', 'take these leads out'],
  ],
  call: ([id], options) => ({
    method: 'POST',
    path: `batches/${part(id)}/edit`,
    body: {
      new_deadline: text(options, 'newDeadline'),
      rate_per_s: number(options, 'rate'),
      concurrency: number(options, 'concurrency'),
      max_duration: text(options, 'maxDuration'),
      canary: number(options, 'canary'),
      exclude_event_ids: texts(options, 'exclude'),
      reason: text(options, 'reason'),
    },
  }),
  lines: answerLines,
} satisfies RestCommand<Record<string, unknown>>;

const dryRun = {
  usage: 'dry-run <batch-id>',
  about: 'say of each item whether it may be tried again; nothing is sent',
  call: ([id]) => ({ method: 'POST', path: `batches/${part(id)}/dry-run` }),
  lines: answerLines,
} satisfies RestCommand<Record<string, unknown>>;

const approve = {
  usage: 'approve <batch-id>',
  about: 'approve what was looked at, as another person than its author',
  options: [
    ['--hash <hash>', 'of the batch as you looked at it'],
    ['--policy <policy>', 'second_person or single_operator'],
    ['--valid-for <duration>', 'it has to begin within this time'],
  ],
  call: ([id], options) => ({
    method: 'POST',
    path: `batches/${part(id)}/approve`,
    body: { hash: text(options, 'hash'), policy: text(options, 'policy'), valid_for: text(options, 'validFor') },
  }),
  lines: answerLines,
} satisfies RestCommand<Record<string, unknown>>;

const pause = {
  usage: 'pause <batch-id>',
  about: 'begin no further item until it is resumed',
  reason: true,
  call: ([id], options) => ({ method: 'POST', path: `batches/${part(id)}/pause`, body: { reason: text(options, 'reason') } }),
  lines: answerLines,
} satisfies RestCommand<Record<string, unknown>>;

const resume = {
  usage: 'resume <batch-id>',
  about: 'go on with a paused batch',
  reason: true,
  call: ([id], options) => ({ method: 'POST', path: `batches/${part(id)}/resume`, body: { reason: text(options, 'reason') } }),
  lines: answerLines,
} satisfies RestCommand<Record<string, unknown>>;

interface Item {
  event_id: string;
  destination: string;
  verdict?: string | null;
  state: string;
  repair?: { repair: string; kind: string; ref?: string }[];
}

const items = {
  usage: 'items <batch-id>',
  about: 'what became of each item',
  options: [
    ['--outcome <outcome>', 'only with this outcome'],
    ['--after <cursor>', 'the `next` of the page before'],
  ],
  call: ([id], options) => ({
    method: 'GET',
    path: `batches/${part(id)}/items`,
    query: { outcome: text(options, 'outcome'), after: text(options, 'after') },
  }),
  lines: ({ items: all, next }) => [
    ...all.map(({ event_id, destination, verdict, state, repair }) => ({
      event_id,
      destination,
      verdict: verdict ?? '',
      state,
      ...(repair && { repair: repair.map(({ repair: what, kind, ref = '' }) => `${what} ${kind} ${ref}`.trim()).join(', ') }),
    })),
    ...moreLines('event_id', next),
  ],
  empty: 'no items',
} satisfies RestCommand<{ items: Item[]; next?: string }>;

const exportItems = {
  usage: 'export <batch-id>',
  about: 'all items of a batch as CSV on standard output',
  call: ([id]) => ({ method: 'GET', path: `batches/${part(id)}/items.csv` }),
  lines: () => [],
  raw: true,
} satisfies RestCommand<string>;

/** Commands of the group `batches` that go over the REST API alone. */
export const batchCommands = [
  list,
  draft,
  edit,
  dryRun,
  approve,
  pause,
  resume,
  items,
  exportItems,
  showBatch,
] as readonly RestCommand<never>[];
