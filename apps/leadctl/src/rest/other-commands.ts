import type { Line } from '../output.js';
import type { Unclaimed } from './blocked-lines.js';
import { awayLines, moreLines, named, part, type RestCommand, readTyped, text, type Words } from './rest-command.js';

interface Destination {
  service: string;
  destination: string;
  mode: string;
  reason?: string;
  hold?: { by: string; reason: string };
  open_until?: string;
  latency?: { total?: { p50: number; p99: number } };
  backlog: { waiting: number; held: number; unclaimed?: Unclaimed; oldest_at?: string };
  drain?: { left: number; rate_per_s: number; eta_s: number | null };
}

/** Never 0 where nobody can say: the reason stands in its place. A channel has none. */
function unclaimedText({ count, at_most, unknown }: Unclaimed = {}): string | number {
  if (unknown !== undefined) return `unknown (${unknown})`;
  return at_most === true ? `at most ${count}` : (count ?? '');
}

export const listDestinations = {
  call: () => ({ method: 'GET', path: 'destinations' }),
  lines: ({ items, unavailable }) => [
    ...items.map(
      ({ service, destination, mode, reason = '', hold, open_until = '', latency, backlog, drain }): Line => ({
        destination,
        service,
        mode,
        reason: hold === undefined ? reason : `held by ${hold.by}: ${hold.reason}`,
        until: open_until,
        p50_ms: latency?.total?.p50 ?? '',
        p99_ms: latency?.total?.p99 ?? '',
        waiting: backlog.waiting,
        held: backlog.held,
        unclaimed: unclaimedText(backlog.unclaimed),
        oldest_at: backlog.oldest_at ?? '',
        drain: drain === undefined ? '' : `${drain.left} left at ${drain.rate_per_s}/s${drain.eta_s === null ? '' : `, ${drain.eta_s} s`}`,
      }),
    ),
    ...awayLines('destination', unavailable),
  ],
  empty: 'no destinations',
} satisfies Pick<RestCommand<{ items: Destination[]; unavailable: string[] }>, 'call' | 'lines' | 'empty'>;

/** `destinations hold` and `release` of a person. */
export function decideDestination(what: 'hold' | 'release') {
  return {
    call: ([name], options) => ({
      method: 'POST',
      path: `destinations/${part(name)}/${what}`,
      body: { reason: text(options, 'reason'), service: text(options, 'service'), since: text(options, 'since') },
    }),
    lines: () => [{ result: what === 'hold' ? 'held' : 'released' }],
  } satisfies Pick<RestCommand<unknown>, 'call' | 'lines'>;
}

export const testDestination = {
  usage: 'test <name>',
  about: 'hand in a test lead of a person who does not exist, for this sandbox destination alone',
  call: ([name]) => ({ method: 'POST', path: `destinations/${part(name)}/test` }),
  lines: ({ event_id }) => [{ event_id, next: `leadctl lead show ${event_id}` }],
} satisfies RestCommand<{ event_id: string }>;

interface Erasure {
  erasure_id: string;
  state: string;
  hash?: string | null;
  places: { place: string; before: number; after?: number | null; done: boolean }[];
  tasks: { task_id: string; destination: string; ref: string; done: boolean }[];
}

const erasureLines = ({ erasure_id, state, hash, places, tasks }: Erasure): Line[] => [
  { what: `erasure ${erasure_id}`, before: '', after: '', state },
  ...(hash ? [{ what: `hash ${hash}`, before: '', after: '', state: '' }] : []),
  ...places.map(({ place, before, after, done }) => ({ what: place, before, after: after ?? '', state: done ? 'done' : 'open' })),
  ...tasks.map(({ task_id, destination, ref, done }) => ({
    what: `delete ${ref} at ${destination}`,
    before: task_id,
    after: '',
    state: done ? 'done' : 'open',
  })),
];

async function subjectOf(options: Words): Promise<object> {
  const event_id = text(options, 'eventId');
  if (event_id !== undefined) return { event_id };
  const typed = await readTyped();
  return typed.includes('@') ? { email: typed } : { phone: typed };
}

const requestErasure = {
  usage: 'request',
  about: 'list every place that holds something of a person; without --event-id an address or number is read from standard input',
  reason: true,
  options: [['--event-id <id>', 'the person of this lead']],
  call: async (_words, options) => ({
    method: 'POST',
    path: 'erasures',
    body: { ...(await subjectOf(options)), reason: text(options, 'reason') },
  }),
  lines: erasureLines,
} satisfies RestCommand<Erasure>;

const approveErasure = {
  usage: 'approve <erasure-id>',
  about: 'erase what was listed, as another person than who asked',
  options: [['--hash <hash>', 'of the erasure as you looked at it']],
  call: ([id], options) => ({ method: 'POST', path: `erasures/${part(id)}/approve`, body: { hash: text(options, 'hash') } }),
  lines: erasureLines,
} satisfies RestCommand<Erasure>;

const showErasure = {
  usage: 'show <erasure-id>',
  about: 'what each place held before and holds now, and what is to be deleted at destinations; exit 3 while something is open',
  call: ([id]) => ({ method: 'GET', path: `erasures/${part(id)}` }),
  lines: erasureLines,
  found: ({ places, tasks }) => [...places, ...tasks].some(({ done }) => !done),
  over: ({ places }) => places.every(({ done }) => done),
} satisfies RestCommand<Erasure>;

const finishTask = {
  usage: 'done <erasure-id> <task-id>',
  about: 'say that a record is deleted at its destination',
  call: ([id, task]) => ({ method: 'POST', path: `erasures/${part(id)}/tasks/${part(task)}/done` }),
  lines: erasureLines,
} satisfies RestCommand<Erasure>;

interface ErasureSummary {
  erasure_id: string;
  state: string;
  kind: string;
  author: string;
  approver: string | null;
  created_at: string;
  expires_at: string;
  approved_at: string | null;
  erased_at: string | null;
  completed_at: string | null;
}

const erasureLine = (erasure: ErasureSummary): Line => ({
  erasure_id: erasure.erasure_id,
  state: erasure.state,
  subject: erasure.kind,
  author: erasure.author,
  approver: erasure.approver ?? '',
  created_at: erasure.created_at,
  approved_at: erasure.approved_at ?? `expires ${erasure.expires_at}`,
  erased_at: erasure.erased_at ?? '',
  completed_at: erasure.completed_at ?? '',
});

const listErasures = {
  usage: 'list',
  about: 'erasures, the newest first; what each place held is in `show`',
  options: [
    ['--state <state>', 'only in this state'],
    ['--after <cursor>', 'the `next` of the page before'],
    ['--limit <n>', 'at most so many'],
  ],
  call: (_words, options) => ({ method: 'GET', path: 'erasures', query: named(options, ['state', 'after', 'limit']) }),
  lines: ({ items, next }) => [...items.map(erasureLine), ...moreLines('erasure_id', next)],
  empty: 'no erasures',
} satisfies RestCommand<{ items: ErasureSummary[]; next?: string }>;

export const erasureCommands = [listErasures, requestErasure, approveErasure, showErasure, finishTask] as readonly RestCommand<never>[];

interface AuditEntry {
  seq: number | null;
  at: string;
  person: string;
  action: string;
  subject: Record<string, unknown>;
}

const listAudit = {
  usage: 'list',
  about: 'who decided what, the newest first',
  options: [
    ['--action <action>', 'only this, such as batch.approve'],
    ['--person <subject>', 'only of this person'],
    ['--about <id>', 'only about this id or name'],
    ['--after <cursor>', 'the `next` of the page before'],
    ['--limit <n>', 'at most so many'],
  ],
  call: (_words, options) => ({
    method: 'GET',
    path: 'audit',
    query: { ...named(options, ['action', 'person', 'after', 'limit']), subject: text(options, 'about') },
  }),
  lines: ({ items, next }) => [
    ...items.map(({ seq, at, person, action, subject }) => ({ seq: seq ?? '', at, person, action, about: JSON.stringify(subject) })),
    ...moreLines('seq', next),
  ],
  empty: 'nothing stands in the audit',
} satisfies RestCommand<{ items: AuditEntry[]; next?: string }>;

export interface AuditReport {
  ok: boolean;
  [more: string]: unknown;
}

export const auditLines = (report: AuditReport): Line[] =>
  Object.entries(report).map(([what, value]) => ({ what, result: typeof value === 'object' ? JSON.stringify(value) : String(value) }));

export const verifyAudit = {
  call: () => ({ method: 'GET', path: 'audit/verify' }),
  lines: auditLines,
  found: ({ ok }) => !ok,
} satisfies Pick<RestCommand<AuditReport>, 'call' | 'lines' | 'found'>;

export const auditCommands = [listAudit] as readonly RestCommand<never>[];

export const me = {
  usage: 'me',
  about: 'who the token stands for and what that person may do',
  call: () => ({ method: 'GET', path: 'me' }),
  lines: (answer) =>
    Object.entries(answer).map(([what, value]) => ({ what, result: typeof value === 'object' ? JSON.stringify(value) : String(value) })),
} satisfies RestCommand<Record<string, unknown>>;
