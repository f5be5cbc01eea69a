import type { Command } from 'commander';
import type { Line } from '../output.js';
import { restClient, withPerson } from './person-door.js';
import type { Context, RestCommand } from './rest-command.js';

interface Overview {
  as_of: string;
  counts: { destination: string; state: string; count: number }[];
  oldest: { destination: string; state: string; age_ms: number | null }[];
  balance: { balanced: boolean; as_of: string; unaccounted: number } | null;
  work_by_owner: { owner: string; open: number; overdue: number }[];
  reconciliation: {
    as_of: string;
    open: { destination: string; class: string; count: number; high: number }[];
    last_runs: { destination: string; state: string; to: string; compared: number }[];
  } | null;
  recent_batches: { batch_id: string; state: string; counts: Record<string, number> }[];
}

const minuteMs = 60_000;

function overviewLines({ counts, oldest, balance, work_by_owner, reconciliation, recent_batches }: Overview): Line[] {
  const ages = new Map(oldest.map(({ destination, state, age_ms }) => [`${destination} ${state}`, age_ms]));
  return [
    ...counts.map(({ destination, state, count }): Line => {
      const ageMs = ages.get(`${destination} ${state}`);
      return { what: `${destination} ${state}`, count, more: ageMs == null ? '' : `the oldest for ${Math.floor(ageMs / minuteMs)} min` };
    }),
    ...work_by_owner.map(({ owner, open, overdue }): Line => ({ what: `for ${owner}`, count: open, more: `${overdue} overdue` })),
    ...(balance === null
      ? []
      : [
          {
            what: 'unaccounted for',
            count: balance.unaccounted,
            more: balance.balanced ? 'balanced' : `not balanced as of ${balance.as_of}`,
          },
        ]),
    ...(reconciliation?.open ?? []).map(
      ({ destination, class: kind, count, high }): Line => ({ what: `${destination} ${kind}`, count, more: `${high} urgent` }),
    ),
    ...(reconciliation?.last_runs ?? []).map(
      ({ destination, state, to, compared }): Line => ({
        what: `compared with ${destination}`,
        count: compared,
        more: `${state}, until ${to}`,
      }),
    ),
    ...recent_batches.map(({ batch_id, state, counts: { items = 0 } }): Line => ({ what: `batch ${batch_id}`, count: items, more: state })),
  ];
}

/** Something that a person must see to now. */
const isBad = ({ balance, work_by_owner, reconciliation }: Overview): boolean =>
  balance?.balanced === false ||
  work_by_owner.some(({ overdue }) => overdue > 0) ||
  (reconciliation?.open ?? []).some(({ high }) => high > 0);

export const overview = {
  usage: 'overview',
  about:
    'how things are: what is open and since when, the balance, what differs; exit 3 where something is overdue, urgent or unaccounted for',
  call: () => ({ method: 'GET', path: 'overview' }),
  lines: overviewLines,
  empty: 'nothing is open',
  found: isBad,
  // Watched until somebody has seen enough of it.
  over: () => false,
} satisfies RestCommand<Overview>;

/** `live`: prints what has changed, as it changes, one line each; with --json one document a line. Ends with the stream, after 15 minutes. */
export function addLive(program: Command, { output: _, env }: Context): void {
  const live = withPerson(
    program.command('live').description('what changes, as it changes: names of what to look at again, until it is ended'),
  );
  live.action(async () => {
    const client = restClient(live.opts(), env);
    const json = program.opts<{ json?: boolean }>().json === true;
    for await (const { what } of client.changes()) {
      const at = new Date().toISOString();
      process.stdout.write(json ? `${JSON.stringify({ at, what })}\n` : `${at}  ${what.join(', ')}\n`);
    }
  });
}
