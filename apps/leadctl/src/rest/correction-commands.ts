import type { Line } from '../output.js';
import { moreLines, named, part, type RestCommand, readJson, text } from './rest-command.js';

interface Correction {
  correction_id: string;
  state: string;
  event_id: string;
  destination: string;
  revision: number;
  fields: string[];
  operations: { operation_key: string; kind: string; step: string; found: boolean; ref?: string }[];
  hash: string;
  author: string;
  approver: string | null;
  class: string | null;
  code: string | null;
}

const lines = (correction: Correction): Line[] => [
  { what: `correction ${correction.correction_id}`, result: correction.state },
  { what: `revision ${correction.revision} of ${correction.event_id} for ${correction.destination}`, result: correction.fields.join(', ') },
  ...correction.operations.map(({ operation_key, kind, step, ref }) => ({
    what: `${step} ${kind} ${ref ?? ''}`.trim(),
    result: operation_key,
  })),
  { what: 'hash', result: correction.hash },
  { what: 'author', result: correction.author },
  { what: 'approver', result: correction.approver ?? '' },
  ...(correction.class === null ? [] : [{ what: 'failed', result: [correction.class, correction.code].filter(Boolean).join(' ') }]),
];

const ended = new Set(['done', 'failed', 'expired']);

const list = {
  usage: 'list',
  about: 'corrections, the newest first; those in state draft wait for a second person',
  options: [
    ['--state <state>', 'draft, approved, sent, done, failed or expired'],
    ['--event-id <id>', 'only of this lead'],
    ['--after <cursor>', 'the `next` of the page before'],
    ['--limit <n>', 'at most so many'],
  ],
  call: (_words, options) => ({
    method: 'GET',
    path: 'corrections',
    query: { event_id: text(options, 'eventId'), ...named(options, ['state', 'after', 'limit']) },
  }),
  lines: ({ items, next }) => [
    ...items.map(({ correction_id, state, event_id, destination, fields, author, approver }) => ({
      correction_id,
      state,
      event_id,
      destination,
      fields: fields.join(', '),
      author,
      approver: approver ?? '',
    })),
    ...moreLines('correction_id', next),
  ],
  empty: 'no corrections',
} satisfies RestCommand<{ items: Correction[]; next?: string }>;

const draft = {
  usage: 'draft <event-id> <destination>',
  about: 'seal corrected fields, read from standard input as JSON ({"email": …}), and say what they would change; nothing is changed',
  reason: true,
  call: async ([event_id, destination], options) => ({
    method: 'POST',
    path: 'corrections',
    body: { event_id, destination, changes: await readJson(), reason: text(options, 'reason') },
  }),
  lines,
} satisfies RestCommand<Correction>;

const show = {
  usage: 'show <correction-id>',
  about: 'a correction and what came of it; exit 3 when it failed or expired',
  call: ([id]) => ({ method: 'GET', path: `corrections/${part(id)}` }),
  lines,
  found: ({ state }) => state === 'failed' || state === 'expired',
  over: ({ state }) => ended.has(state),
} satisfies RestCommand<Correction>;

const approve = {
  usage: 'approve <correction-id>',
  about: 'have the lead delivered with the corrected fields, as another person than its author',
  options: [['--hash <hash>', 'of the correction as you looked at it']],
  call: ([id], options) => ({ method: 'POST', path: `corrections/${part(id)}/approve`, body: { hash: text(options, 'hash') } }),
  lines,
} satisfies RestCommand<Correction>;

/** Commands of the group `corrections`. The values of the fields stand in no list of processes and no history. */
export const correctionCommands = [list, draft, show, approve] as readonly RestCommand<never>[];
