import pg from 'pg';
import type { Endpoints } from '#testkit';
import { eventually } from './eventually.js';
import type { LeadFlood } from './lead-flood.js';
import { Sandbox } from './sandbox.js';
import type { IntakeClient } from './traffic.js';

/** What became of every lead of a flood, by id. */
export interface Ledger {
  /** Event ids that intake accepted, through either door. */
  readonly accepted: ReadonlySet<string>;
  /** Accepted and not in the CRM. */
  readonly missing: readonly string[];
  /** In the CRM more than once. */
  readonly doubled: readonly string[];
  /** Neither a message nor a notification shown as uncertain. */
  readonly untold: readonly string[];
  /** More than one message. */
  readonly toldTwice: readonly string[];
  readonly uncertain: readonly string[];
  /** Of these, those whose uncertain notification `GET /v1/leads` does not show. */
  readonly unshown: readonly string[];
}

/** Event ids of the leads that the broker acknowledged on `leads`, once intake has accepted all of them. */
async function acceptedFromTopic(intake: IntakeClient, sourceEventIds: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const chunk of chunks(sourceEventIds, 16)) {
    const ids = await Promise.all(
      chunk.map((id) =>
        eventually(async () => {
          const answer = await intake.get(`/v1/leads?source_event_id=${encodeURIComponent(id)}`);
          if (answer.status !== 200) throw new Error(`${id} answered ${answer.status}`);
          return String(answer.body.event_id);
        }, 60_000),
      ),
    );
    found.push(...ids);
  }
  return found;
}

/** Waits until every lead of the flood has its CRM record and its notification (or one shown as uncertain), at most `timeoutMs`, then reports by id. */
export async function settleAccounts(options: {
  endpoints: Endpoints;
  flood: LeadFlood;
  intake: IntakeClient;
  timeoutMs: number;
}): Promise<Ledger> {
  const { endpoints, flood, intake, timeoutMs } = options;
  const accepted = new Set([...flood.accepted.values(), ...(await acceptedFromTopic(intake, flood.produced))]);
  const sandbox = new Sandbox(endpoints);
  const ids = [...accepted];
  await eventually(async () => {
    const counts = await sandbox.leadCounts();
    const { told, uncertain } = await toldLeads(endpoints, sandbox);
    const missing = ids.filter((id) => !counts.has(id)).length;
    const untold = ids.filter((id) => !told.has(id) && !uncertain.has(id)).length;
    if (missing + untold > 0) throw new Error(`of ${accepted.size} leads ${missing} are not in the CRM and ${untold} untold`);
  }, timeoutMs).catch((error: Error) => console.log(error.message));

  const counts = await sandbox.leadCounts();
  const { told, uncertain } = await toldLeads(endpoints, sandbox);
  const doubtful = ids.filter((id) => uncertain.has(id));
  return {
    accepted,
    missing: ids.filter((id) => !counts.has(id)),
    doubled: ids.filter((id) => (counts.get(id) ?? 0) > 1),
    untold: ids.filter((id) => !told.has(id) && !uncertain.has(id)),
    toldTwice: ids.filter((id) => (told.get(id) ?? 0) > 1),
    uncertain: doubtful,
    unshown: await notShown(intake, doubtful),
  };
}

/** Leads whose uncertain notification is not shown to who asks for the lead; an intake that is just being started again is waited for. */
async function notShown(intake: IntakeClient, ids: readonly string[]): Promise<string[]> {
  const isShown = (id: string): Promise<boolean> =>
    eventually(async () => {
      const { body } = await intake.get(`/v1/leads/${id}`);
      if (!showsUncertain(body)) throw new Error(`${id} is not shown as uncertain`);
      return true;
    }, 30_000).catch(() => false);
  const unshown: string[] = [];
  for (const chunk of chunks(ids, 16)) {
    const shown = await Promise.all(chunk.map(isShown));
    unshown.push(...chunk.filter((_, at) => !shown[at]));
  }
  return unshown;
}

/** True where the answer to `GET /v1/leads/{event_id}` says of a notification that nobody knows whether it was sent. */
export function showsUncertain(lead: Record<string, unknown>): boolean {
  return ((lead.notifications ?? []) as { state: string }[]).some(({ state }) => state === 'uncertain');
}

/** Messages per event id (by the lead reference in their text), and event ids whose notification is uncertain. */
export async function toldLeads(endpoints: Endpoints, sandbox: Sandbox): Promise<{ told: Map<string, number>; uncertain: Set<string> }> {
  const client = new pg.Client({ connectionString: endpoints.databaseUrl });
  await client.connect();
  const leads = await client.query<{ event_id: string; lead_ref: string }>('select event_id::text as event_id, lead_ref from intake.lead');
  const open = await client.query<{ event_id: string }>(
    `select event_id::text as event_id from notifier.operation where state = 'uncertain'`,
  );
  await client.end();
  const byRef = new Map(leads.rows.map(({ event_id, lead_ref }) => [lead_ref, event_id]));
  const told = new Map<string, number>();
  for (const { text } of await sandbox.messages()) {
    const ref = /\bL-[A-Z0-9]+\b/i.exec(text)?.[0];
    const id = ref === undefined ? undefined : byRef.get(ref);
    if (id !== undefined) told.set(id, (told.get(id) ?? 0) + 1);
  }
  return { told, uncertain: new Set(open.rows.map(({ event_id }) => event_id)) };
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
