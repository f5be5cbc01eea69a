import type { Line } from '../output.js';
import { balance } from './balance-command.js';
import { moreLines, named, number, part, type RestCommand, text, texts, type Words } from './rest-command.js';

interface Run {
  run_id: string;
  destination: string;
  from: string;
  to: string;
  state: string;
  by: string;
  reason?: string;
  counts: Record<string, number> | null;
  calls: number;
  finished_at?: string;
}

interface Discrepancy {
  discrepancy_id: string;
  class: string;
  aspect?: string;
  state: string;
  urgency: string;
  destination: string;
  event_id?: string;
  ref?: string;
  fields: string[];
  repair?: string;
  owner: string;
  next_step: string;
  batch_id?: string;
  runbook: string;
}

const ended = new Set(['finished', 'stopped', 'failed']);
const compares = new Set(['compared', 'unconfirmed']);
const differing = ({ counts }: Run): number =>
  Object.entries(counts ?? {}).reduce((sum, [name, count]) => (compares.has(name) ? sum : sum + count), 0);

const runLine = (run: Run): Line => ({
  run_id: run.run_id,
  destination: run.destination,
  from: run.from,
  to: run.to,
  state: run.reason === undefined ? run.state : `${run.state}: ${run.reason}`,
  by: run.by,
  compared: run.counts?.compared ?? '',
  differing: run.counts === null ? '' : differing(run),
  calls: run.calls,
});

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `--from`, or so long ago as `--last` says. Left as it is where that is no duration: the service says what is wrong with it. */
function beginOf(options: Words): string | undefined {
  const last = text(options, 'last');
  const [, amount, unit = ''] = /^(\d{1,6})([mhd])$/.exec(last ?? '') ?? [];
  if (last === undefined || text(options, 'from') !== undefined) return text(options, 'from');
  return amount === undefined ? last : new Date(Date.now() - Number(amount) * (unitsMs[unit] ?? 0)).toISOString();
}

const startRun = {
  usage: 'run <destination>',
  about:
    'compare what was submitted or changed in a window with what the destination holds; changes nothing there. A part (--form, --campaign, --outcome) is compared without orphans, possible twins and what was changed there; what is open from before is looked at again by schedule alone',
  options: [
    ['--from <time>', 'leads submitted, or whose delivery last changed, from this time on (ISO 8601)'],
    ['--to <time>', 'and before this one (default: now)'],
    ['--last <duration>', 'instead of --from: so long until now, such as 24h', '24h'],
    ['--form <form>', 'only of this form'],
    ['--campaign <campaign>', 'only of this campaign'],
    ['--outcome <state>', 'only deliveries in this state'],
    ['--reason <text>', 'why; kept in the audit'],
  ],
  call: ([destination], options) => ({
    method: 'POST',
    path: 'reconciliation/runs',
    body: {
      destination,
      from: beginOf(options),
      ...Object.fromEntries(['to', 'form', 'campaign', 'outcome', 'reason'].map((name) => [name, text(options, name)])),
    },
  }),
  lines: ({ run_id }) => [{ run_id, next: `leadctl reconcile watch ${run_id}` }],
} satisfies RestCommand<{ run_id: string }>;

const watchRun = {
  usage: 'watch <run-id>',
  about: 'follow a run until it has ended; exit 3 when it found something, was stopped or failed',
  call: ([run_id]) => ({ method: 'GET', path: 'reconciliation/runs', query: { run_id } }),
  lines: ({ items }) =>
    items.flatMap((run) => [
      runLine(run),
      ...Object.entries(run.counts ?? {}).map(([what, count]) => ({ run_id: what, destination: count })),
    ]),
  empty: 'no such run',
  found: ({ items }) => items.length === 0 || items.some((run) => run.state !== 'finished' || differing(run) > 0),
  over: ({ items }) => items.every(({ state }) => ended.has(state)),
} satisfies RestCommand<{ items: Run[] }>;

const listRuns = {
  usage: 'runs',
  about: 'comparisons, the newest first',
  options: [
    ['--destination <name>', 'only with this destination'],
    ['--state <state>', 'waiting, running, finished, stopped or failed'],
    ['--after <cursor>', 'the `next` of the page before'],
    ['--limit <n>', 'at most so many'],
  ],
  call: (_words, options) => ({
    method: 'GET',
    path: 'reconciliation/runs',
    query: named(options, ['destination', 'state', 'after', 'limit']),
  }),
  lines: ({ items, next }) => [...items.map(runLine), ...moreLines('run_id', next)],
  empty: 'nothing was compared',
} satisfies RestCommand<{ items: Run[]; next?: string }>;

const stopRun = {
  usage: 'stop <run-id>',
  about: 'end a run; what it found stays',
  reason: true,
  call: ([id], options) => ({ method: 'POST', path: `reconciliation/runs/${part(id)}/stop`, body: { reason: text(options, 'reason') } }),
  lines: () => [{ result: 'stopped' }],
} satisfies RestCommand<unknown>;

const which = [
  ['--class <class>', 'missing, deleted, duplicate, content_conflict, late, orphan, …'],
  ['--destination <name>', 'only at this destination'],
  ['--owner <owner>', 'only of this owner'],
  ['--run <run-id>', 'only what this run found first or saw last'],
  ['--event-id <id>', 'only of this lead'],
] as const;
const filterOf = (options: Words) => ({
  ...named(options, ['class', 'destination', 'owner']),
  run_id: text(options, 'run'),
  event_id: text(options, 'eventId'),
});
const stateOf = (options: Words): string | undefined => {
  const state = text(options, 'state');
  return state === 'any' ? undefined : state;
};

const differenceLine = (one: Discrepancy): Line => ({
  discrepancy_id: one.discrepancy_id,
  class: one.aspect === undefined ? one.class : `${one.class} ${one.aspect}`,
  state: one.batch_id === undefined ? one.state : `${one.state} (batch ${one.batch_id})`,
  urgency: one.urgency,
  destination: one.destination,
  event_id: one.event_id ?? '',
  ref: one.ref ?? '',
  fields: one.fields.join(' '),
  repair: one.repair ?? 'by a person',
  owner: one.owner,
  next: one.next_step,
  runbook: one.runbook,
});

const diff = {
  usage: 'diff',
  about: 'what differs at destinations, the oldest first; exit 3 while something does',
  options: [
    ...which,
    ['--state <state>', 'open, repairing, repaired, repair_failed, accepted, gone or any', 'open'],
    ['--after <cursor>', 'the `next` of the page before'],
    ['--limit <n>', 'at most so many'],
  ],
  call: (_words, options) => ({
    method: 'GET',
    path: 'reconciliation/discrepancies',
    query: { ...filterOf(options), state: stateOf(options), ...named(options, ['after', 'limit']) },
  }),
  lines: ({ items, next }) => [...items.map(differenceLine), ...moreLines('discrepancy_id', next)],
  empty: 'nothing differs',
  found: ({ items }) => items.some(({ state }) => state === 'open' || state === 'repair_failed'),
  over: ({ items }) => items.length === 0,
} satisfies RestCommand<{ items: Discrepancy[]; next?: string }>;

const exportDiff = {
  usage: 'export',
  about: 'everything that differs as CSV',
  options: [...which, ['--state <state>', 'open, repairing, repaired, repair_failed, accepted, gone or any', 'any']],
  call: (_words, options) => ({
    method: 'GET',
    path: 'reconciliation/discrepancies.csv',
    query: { ...filterOf(options), state: stateOf(options) },
  }),
  raw: true,
  lines: () => [],
} satisfies RestCommand<string>;

interface Drafted {
  batch_id: string;
  hash: string;
  items: number;
  discrepancies: number;
  left_out: Record<string, number>;
}

const repair = {
  usage: 'repair',
  about: 'freeze discrepancies into a draft of a batch that repairs them; nothing is sent',
  reason: true,
  options: [
    ['--id <id...>', 'these discrepancies, instead of a filter'],
    ...which,
    ['--max <n>', 'discrepancies at most'],
    ['--new-deadline <duration>', 'from the approval on, such as 4h'],
    ['--rate <n>', 'items a second'],
    ['--concurrency <n>', 'items under way at once'],
    ['--max-duration <duration>', 'whatever has not begun then is not begun'],
    ['--canary <n>', 'items that go first and are looked up'],
  ],
  call: (_words, options) => {
    const ids = texts(options, 'id');
    return {
      method: 'POST',
      path: 'reconciliation/repairs',
      body: {
        ...(ids === undefined ? { filter: filterOf(options) } : { ids }),
        max: number(options, 'max'),
        new_deadline: text(options, 'newDeadline'),
        rate_per_s: number(options, 'rate'),
        concurrency: number(options, 'concurrency'),
        max_duration: text(options, 'maxDuration'),
        canary: number(options, 'canary'),
        reason: text(options, 'reason'),
      },
    };
  },
  lines: ({ batch_id, hash, items, discrepancies, left_out }) => [
    { what: `batch ${batch_id}`, result: `draft of ${items} deliveries, ${discrepancies} discrepancies` },
    { what: 'hash', result: hash },
    ...Object.entries(left_out)
      .filter(([, count]) => count > 0)
      .map(([why, count]) => ({ what: `left out: ${why.replaceAll('_', ' ')}`, result: count })),
    { what: 'next', result: `leadctl batches dry-run ${batch_id}` },
    { what: 'then another person', result: `leadctl batches approve ${batch_id} --hash ${hash}` },
    { what: 'and follow it', result: `leadctl batches watch ${batch_id}` },
  ],
} satisfies RestCommand<Drafted>;

const accept = {
  usage: 'accept <discrepancy-id>',
  about: 'say that what stands at the destination is right',
  reason: true,
  call: ([id], options) => ({
    method: 'POST',
    path: `reconciliation/discrepancies/${part(id)}/accept`,
    body: { reason: text(options, 'reason') },
  }),
  lines: () => [{ result: 'accepted' }],
} satisfies RestCommand<unknown>;

export const reconcileCommands = [
  startRun,
  watchRun,
  listRuns,
  stopRun,
  diff,
  exportDiff,
  repair,
  accept,
  balance,
] as readonly RestCommand<never>[];
