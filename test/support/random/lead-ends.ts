import pg from 'pg';
import type { Endpoints } from '#testkit';
import { ask } from '../../tour/crm-witness.js';
import { showsUncertain, toldLeads } from '../ledger.js';
import { Sandbox } from '../sandbox.js';
import type { OpenStack } from '../stack.js';

export interface LeadEnds {
  /** State and class → leads. */
  states: Record<string, number>;
  /** What cannot be explained, a line each. */
  wrong: string[];
  /** Leads that ended without their effect. */
  dead: number;
}

/** How often each lead and each person stands in one CRM. */
async function recordsIn(url: string): Promise<{ leads: Map<string, number>; people: Map<string, number> }> {
  const data = await ask<{ leads: { external_id: string }[]; contacts: { person_key: string }[] }>(`${url}/data`);
  return { leads: countBy(data.leads, ({ external_id }) => external_id), people: countBy(data.contacts, ({ person_key }) => person_key) };
}

function countBy<T>(items: readonly T[], of: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(of(item), (counts.get(of(item)) ?? 0) + 1);
  return counts;
}

/**
 * Leads that may stand in a CRM although they ended without effect, since an attempt says so: two lookups that found nothing came before the record
 * was to be found, or the call that made it was heard of when its lead had ended.
 */
async function explained({ databaseUrl }: Endpoints): Promise<Set<string>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ event_id: string }>(
    `select distinct o.event_id::text from crm_writer.attempt a join crm_writer.operation o using (operation_key)
     where a.late or a.outcome = 'lookup_absent'`,
  );
  await client.end();
  return new Set(rows.map(({ event_id }) => event_id));
}

/**
 * What became of each accepted lead (event id → form), as intake tells it and as the CRMs and the chat saw it. Each of the CRMs can be asked what it
 * holds: what ended as dead or expired is in none of them.
 */
export async function readEnds(open: OpenStack, accepted: ReadonlyMap<string, string>): Promise<LeadEnds> {
  const { sandboxCrm } = open.endpoints();
  const ends: LeadEnds = { states: {}, wrong: [], dead: 0 };
  const forms = [...new Set(accepted.values())];
  const crms = new Map(await Promise.all(forms.map(async (form) => [form, await recordsIn(`${sandboxCrm}-${form}`)] as const)));
  const { told, uncertain } = await toldLeads(open.endpoints(), new Sandbox(open.endpoints()));
  const why = await explained(open.endpoints());
  for (const { leads, people } of crms.values()) {
    for (const id of leads.keys()) if (!accepted.has(id)) ends.wrong.push(`${id} was accepted by nobody and is in a CRM`);
    for (const [person, count] of people) if (count > 1) ends.wrong.push(`person ${person.slice(0, 8)} stands ${count} times in a CRM`);
  }
  const ids = [...accepted];
  for (let at = 0; at < ids.length; at += 20) {
    await Promise.all(
      ids.slice(at, at + 20).map(async ([id, form]) => {
        const { body } = await open.intake.get(`/v1/leads/${id}`);
        const state = stateOf(body);
        ends.states[state] = (ends.states[state] ?? 0) + 1;
        const records = crms.get(form)?.leads.get(id) ?? 0;
        const ended = /^(delivered|dead|expired)/.exec(state)?.[0];
        if (ended !== 'delivered') ends.dead += 1;
        const most = why.has(id) ? 1 : 0;
        const asItShould = ended === 'delivered' ? records === 1 : ended !== undefined && records <= most;
        if (!asItShould) ends.wrong.push(`${id} to ${form} is ${state} and has ${records} records`);
        if ((told.get(id) ?? 0) > 1) ends.wrong.push(`${id} to ${form} is ${state} and was told ${told.get(id)} times`);
        if (!told.has(id) && !uncertain.has(id)) ends.wrong.push(`${id} to ${form} is ${state} and was never told`);
        if (uncertain.has(id) && !showsUncertain(body)) ends.wrong.push(`${id} to ${form} does not show that its message is uncertain`);
      }),
    );
  }
  return ends;
}

function stateOf(lead: Record<string, unknown>): string {
  const [delivery] = (lead.deliveries ?? []) as { state: string; class?: string; code?: string }[];
  if (delivery === undefined) return 'unknown';
  return [delivery.state, delivery.class, delivery.code].filter(Boolean).join(' ');
}
