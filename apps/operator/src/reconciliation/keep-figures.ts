import { z } from 'zod';
import { discrepancyClasses, runStates } from '#delivery';
import type { Site, Sql } from '#runtime';
import { mayRead, type Person } from '../people/person.js';
import { type ReconcilerApi, reconcilerPage } from './reconciler-api.js';

const count = z.number().int();

export const reconciliationFigures = z.object({
  as_of: z.string(),
  open: z
    .array(z.object({ destination: z.string(), class: z.enum(discrepancyClasses), count, high: count.describe('Of high urgency.') }))
    .describe('Discrepancies that nobody has decided about, or whose repair failed.'),
  more: z.boolean().describe('There are more than were counted.'),
  last_runs: z
    .array(
      z.object({
        destination: z.string(),
        run_id: z.string(),
        state: z.enum(runStates),
        from: z.string(),
        to: z.string(),
        finished_at: z.string().optional(),
        compared: count.describe('Leads.'),
      }),
    )
    .describe('The last run of each destination; none for somebody who may not see all organizations.'),
});
type Figures = z.infer<typeof reconciliationFigures>;

/** As kept: apart by whose leads they are; null: nobody's. */
interface Kept extends Omit<Figures, 'open'> {
  open: (Figures['open'][number] & { organization: string | null })[];
}

const everySeconds = 30;
/** Pages of open discrepancies that are counted at most. */
const mostPages = 20;

const beginSql = `
INSERT INTO reconciliation_figures (one_row, began_at) VALUES (true, clock_now())
ON CONFLICT (one_row) DO UPDATE SET began_at = clock_now() WHERE reconciliation_figures.began_at < clock_now() - interval '${everySeconds} seconds'
RETURNING one_row`;
const storeSql = 'UPDATE reconciliation_figures SET figures = $1::jsonb';
const readSql = 'SELECT figures FROM reconciliation_figures WHERE figures IS NOT NULL';

export interface FigureTools {
  db: Sql;
  site: Pick<Site, 'destinations'>;
  reconciler: Pick<ReconcilerApi, 'discrepancies' | 'runs'>;
}

/** Counts what differs, when it is time; of several processes one does. Rejects with the refusal 503. */
export async function keepFigures({ db, site, reconciler }: FigureTools): Promise<void> {
  if ((await db.sql('operator.begin_figures', beginSql, [])).length === 0) return;
  const counted = await countOpen(reconciler);
  const last_runs: Kept['last_runs'] = [];
  for (const destination of Object.keys(site.destinations)) {
    const [run] = (await reconciler.runs({ destination, limit: 1 })).items;
    if (run === undefined) continue;
    const { run_id, state, from, to, finished_at, counts } = run;
    last_runs.push({ destination, run_id, state, from, to, ...(finished_at && { finished_at }), compared: counts.compared });
  }
  const kept: Kept = { as_of: new Date().toISOString(), ...counted, last_runs };
  await db.sql('operator.store_figures', storeSql, [JSON.stringify(kept)]);
}

async function countOpen(reconciler: FigureTools['reconciler']): Promise<Pick<Kept, 'open' | 'more'>> {
  const sums = new Map<string, Kept['open'][number]>();
  let after: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const { items, next } = await reconciler.discrepancies({ state: ['open', 'repair_failed'], after, limit: reconcilerPage });
    for (const { destination, class: kind, organization = null, urgency } of items) {
      const key = JSON.stringify([destination, kind, organization]);
      const { count: some, high } = sums.get(key) ?? { count: 0, high: 0 };
      sums.set(key, { destination, class: kind, organization, count: some + 1, high: high + Number(urgency === 'high') });
    }
    if (next === undefined) return { open: [...sums.values()], more: false };
    after = next;
  }
  return { open: [...sums.values()], more: true };
}

/** As last counted, of leads that the person may see. Runs are of all leads: only those see them who may see all. */
export async function readFigures(db: Sql, person: Person): Promise<Figures | null> {
  const [row] = await db.sql<{ figures: Kept }>('operator.read_figures', readSql, []);
  if (row === undefined) return null;
  const { open, last_runs, ...rest } = row.figures;
  const seen = open.filter(({ organization }) => mayRead(person, organization));
  return { ...rest, open: summed(seen), last_runs: person.organizations === '*' ? last_runs : [] };
}

/** Without whose they are. */
function summed(open: Kept['open']): Figures['open'] {
  const sums = new Map<string, Figures['open'][number]>();
  for (const { destination, class: kind, count: some, high } of open) {
    const key = `${destination} ${kind}`;
    const sum = sums.get(key) ?? { destination, class: kind, count: 0, high: 0 };
    sums.set(key, { ...sum, count: sum.count + some, high: sum.high + high });
  }
  return [...sums.values()].sort((a, b) => b.high - a.high || b.count - a.count);
}
