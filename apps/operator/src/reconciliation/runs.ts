import { z } from 'zod';
import { commandReason, type ReconcileRun, runStates, type StartRunAnswer } from '#delivery';
import { instant, type Site, type Sql } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { maySee, organizationsOf, othersThere } from '../destinations/may-see.js';
import { refusals } from '../http/refusal.js';
import type { Person } from '../people/person.js';
import type { ReconcilerApi } from './reconciler-api.js';
import { reconciliationRefusals } from './refusals.js';
import type { RunItem } from './shapes.js';

const name = z.string().min(1).max(512);
export const runsQuery = z.strictObject({
  destination: name.optional(),
  state: z.enum(runStates).optional(),
  run_id: z.uuid().optional(),
  after: z.string().min(1).max(600).optional().describe('`next` of the page before.'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

export const startRunBody = z.strictObject({
  destination: name,
  from: instant.describe('By the time at which leads were submitted, or their deliveries last changed: from (inclusive)'),
  to: instant.optional().describe('to (exclusive). Default: now.'),
  form: name.optional(),
  campaign: name.optional(),
  outcome: name.optional().describe('State of the delivery.'),
  reason: commandReason.optional(),
});
export const stopRunBody = z.strictObject({ reason: commandReason });

export interface RunTools {
  db: Sql;
  site: Pick<Site, 'routing' | 'sources' | 'destinations'>;
  reconciler: Pick<ReconcilerApi, 'runs' | 'startRun' | 'stopRun'>;
}

/** Runs over destinations that the person may see, newest first. Rejects with the refusal 503. */
export async function listRuns(
  { site, reconciler }: Pick<RunTools, 'site' | 'reconciler'>,
  { run_id, ...asked }: z.infer<typeof runsQuery>,
  person: Person,
): Promise<{ items: RunItem[]; next?: string }> {
  const { items, next } = await reconciler.runs({ ...asked, ...(run_id !== undefined && { ids: [run_id] }) });
  return { items: items.flatMap((run) => shown(site, run, person)), ...(next !== undefined && { next }) };
}

/** How much there was of the leads of others is theirs to know. */
function shown(site: RunTools['site'], run: ReconcileRun, person: Person): RunItem[] {
  if (!maySee(site, run.destination, person)) return [];
  return [{ ...run, counts: othersThere(site, run.destination, person).length > 0 ? null : run.counts }];
}

/** Asks for a run. It stands in the audit before it is asked for, and what came of it afterwards. Rejects with refusals 403, 404, 409 and 503. */
export async function startRun(
  { db, site, reconciler }: RunTools,
  { reason, to = new Date().toISOString(), ...asked }: z.infer<typeof startRunBody>,
  person: Person,
): Promise<{ run_id: string }> {
  const { destination } = asked;
  mayRun(site, destination, person);
  const entry = { ...actor(person), action: 'reconciliation.run', organization: onlyOrganization(site, destination) };
  await audit(db, { ...entry, subject: { ...asked, to, reason } });
  const answer = await reconciler.startRun({ ...asked, to, by: person.subject });
  await audit(db, { ...entry, action: 'reconciliation.run.answer', subject: { destination, ...answer } });
  if ('run_id' in answer) return { run_id: answer.run_id };
  throw refusedRun(answer, destination);
}

/** Ends a run before it is done; what it found stays. Rejects like {@link startRun}. */
export async function stopRun(
  { db, site, reconciler }: RunTools,
  { runId, reason }: { runId: string; reason: string },
  person: Person,
): Promise<{ run_id: string; stopped: true }> {
  const [run] = (await reconciler.runs({ ids: [runId], limit: 1 })).items;
  if (run === undefined) throw refusals.notFound();
  mayRun(site, run.destination, person);
  const entry = { ...actor(person), action: 'reconciliation.stop', organization: onlyOrganization(site, run.destination) };
  await audit(db, { ...entry, subject: { run_id: runId, destination: run.destination, reason } });
  const { stopped } = await reconciler.stopRun({ run_id: runId, by: person.subject });
  await audit(db, { ...entry, action: 'reconciliation.stop.answer', subject: { run_id: runId, destination: run.destination, stopped } });
  if (!stopped) throw reconciliationRefusals.runEnded();
  return { run_id: runId, stopped };
}

function mayRun(site: RunTools['site'], destination: string, person: Person): void {
  if (!maySee(site, destination, person) || !Object.hasOwn(site.destinations, destination)) throw refusals.notFound();
  if (othersThere(site, destination, person).length > 0) throw reconciliationRefusals.othersThere();
}

function onlyOrganization(site: RunTools['site'], destination: string): string | null {
  const [organization, ...more] = organizationsOf(site, destination);
  return more.length === 0 ? (organization ?? null) : null;
}

function refusedRun(answer: Exclude<StartRunAnswer, { run_id: string }>, destination: string): Error {
  switch (answer.refused) {
    case 'unknown_destination':
      return refusals.notFound();
    case 'not_comparable':
      return reconciliationRefusals.notComparable(destination);
    case 'empty_window':
      return reconciliationRefusals.emptyWindow();
  }
}
