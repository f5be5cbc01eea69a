import { z } from 'zod';
import type { ListBalancesAnswer } from '#delivery';
import { csvLine } from '../batches/csv.js';
import { mayRead, type Person } from '../people/person.js';
import type { ReconcilerApi } from './reconciler-api.js';
import { balanceItem, receivedItem } from './shapes.js';

const dayMs = 86_400_000;
const defaultDays = 30;
const mostDays = 400;
/** PostgreSQL knows no year 0, and what lies before a day that is asked for is a day too. */
const day = z.iso.date().refine((text) => text >= '1970-01-01', {
  abort: true,
  params: { problem: 'lies before 1970', fix: 'Ask for days on which leads were taken in' },
});

export const balancesQuery = z
  .strictObject({
    from: day.optional().describe(`Day (UTC) of acceptance. Default: ${defaultDays} days before \`to\`.`),
    to: day.optional().describe('Inclusive. Default: today.'),
    source: z.string().min(1).max(200).optional(),
    destination: z.string().min(1).max(512).optional(),
  })
  .refine(({ from, to }) => daysOf(from, to) <= mostDays, {
    path: ['from'],
    params: { problem: 'is too long before `to`', fix: `Ask for ${mostDays} days at most` },
  });
export const balancesAnswer = z.object({ items: z.array(balanceItem), received: z.array(receivedItem) });

type Asked = z.infer<typeof balancesQuery>;

const today = (): string => new Date().toISOString().slice(0, 10);
const daysOf = (from: string | undefined, to: string = today()): number =>
  from === undefined ? defaultDays : (Date.parse(to) - Date.parse(from)) / dayMs;

/** The balances of each day, of sources that the person may see. Rejects with the refusal 503. */
export async function listBalances(
  reconciler: Pick<ReconcilerApi, 'balances'>,
  { from, to = today(), ...filter }: Asked,
  person: Person,
): Promise<ListBalancesAnswer> {
  const begin = from ?? new Date(Date.parse(to) - defaultDays * dayMs).toISOString().slice(0, 10);
  const { items, received } = await reconciler.balances({ from: begin, to, ...filter });
  const seen = ({ organization }: { organization: string }): boolean => mayRead(person, organization);
  return { items: items.filter(seen), received: received.filter(seen) };
}

const headings = [
  'day',
  'organization',
  'source',
  'destination',
  'accepted',
  'missing',
  'incomplete',
  'balanced',
  'closed',
  'taken_at',
] as const;

/** The balances as CSV: one column for each state that any of them has. */
export async function balancesCsv(reconciler: Pick<ReconcilerApi, 'balances'>, asked: Asked, person: Person): Promise<string> {
  const { items } = await listBalances(reconciler, asked, person);
  const states = [...new Set(items.flatMap(({ found }) => Object.keys(found)))].sort();
  const lines = items.map((item) =>
    csvLine([...headings.map((heading) => item[heading]), ...states.map((state) => item.found[state] ?? 0)]),
  );
  return csvLine([...headings, ...states]) + lines.join('');
}
