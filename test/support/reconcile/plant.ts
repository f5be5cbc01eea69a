import { createHash } from 'node:crypto';
import { newEventId } from '#runtime';
import type { MadeLead } from './leads.js';
import { typeIn, type World } from './world.js';

/** What a comparison has to find, and nothing else: by class and aspect, the records or events it is about. */
export type Planted = Map<string, Set<string>>;

/** Kinds of faults that are planted at leads of their own. */
const kinds = [
  'missing',
  'deleted',
  'duplicate',
  'content_conflict/value',
  'content_conflict/human_change',
  'content_conflict/status',
  'content_conflict/version',
  'late',
  'orphan',
  'possible_manual_twin',
  'told_nobody',
  'relationship/delivered_without_reference',
  'relationship/succeeded_without_attempt',
  'relationship/assigned_without_owner',
  'relationship/wrong_contact',
  'relationship/told_late',
] as const;
type Kind = (typeof kinds)[number];

/** Numbers of the leads at which `each` faults of a kind are planted: spread over all, none of a person with a second lead. */
export function placesOf(kind: Kind, { leads, each }: { leads: number; each: number }): number[] {
  const step = Math.floor(leads / each / 10) * 10;
  // Two kinds in ten leads; their last two are one person's.
  const index = kinds.indexOf(kind);
  const places = Array.from({ length: each }, (_, n) => n * step + Math.floor(index / 8) * 10 + (index % 8));
  if (step < 20 || places.some((place) => place >= leads)) throw new Error('more leads are needed for that many faults');
  return places;
}

interface Tools {
  world: World;
  edit(ref: string, fields: object, by?: 'us' | 'other'): Promise<unknown>;
  sql(text: string, lead: MadeLead): Promise<unknown>;
}

/** Plants one fault at a lead; gives what it is found by: the event, or the record where that is what is wrong. */
const plantOne: Readonly<Record<Kind, (tools: Tools, lead: MadeLead) => Promise<string>>> = {
  missing: async (_, { event }) => event.event_id,
  deleted: async ({ world }, { event, leadRef }) => {
    await world.crm.call(`DELETE /crm/control/records/${leadRef}`);
    return event.event_id;
  },
  duplicate: async ({ world }, { leadRef }) =>
    ((await world.crm.call(`POST /crm/control/records/${leadRef}/copy`, {})).body as { id: string }).id,
  'content_conflict/value': async ({ edit }, { event, leadRef }) => {
    // An update of ours that was answered with yes and lost half of it.
    await edit(leadRef, { message: 'an older message' }, 'us');
    return event.event_id;
  },
  'content_conflict/human_change': async ({ edit }, { event, contactRef }) => {
    await edit(contactRef, { phone: '+12025550199' });
    return event.event_id;
  },
  'content_conflict/status': async ({ edit }, { event, leadRef }) => {
    await edit(leadRef, { status: 'archived' });
    return event.event_id;
  },
  'content_conflict/version': async ({ edit }, { event, leadRef }) => {
    await edit(leadRef, { note: 'written with our credentials' }, 'us');
    return event.event_id;
  },
  late: async ({ sql }, lead) => {
    await sql(`UPDATE delivery SET state = 'dead' WHERE event_id = $1`, lead);
    await sql(`UPDATE operation SET state = 'dead', destination_ref = NULL WHERE event_id = $1 AND kind = 'lead'`, lead);
    return lead.event.event_id;
  },
  orphan: async ({ world }, lead) =>
    (await typeIn(world.crm, 'lead', [{ external_id: idLike(lead), message: 'from nowhere' }], 'other'))[0] ?? '',
  possible_manual_twin: async ({ world, sql }, lead) => {
    await sql(`UPDATE delivery SET state = 'waiting' WHERE event_id = $1`, lead);
    await sql(`UPDATE operation SET state = 'waiting', destination_ref = NULL WHERE event_id = $1 AND kind = 'lead'`, lead);
    await world.crm.call(`DELETE /crm/control/records/${lead.leadRef}`);
    return (await typeIn(world.crm, 'lead', [{ contact_id: lead.contactRef, message: 'rang us up' }], 'other'))[0] ?? '';
  },
  told_nobody: async ({ world }, { event }) => {
    world.untold.add(event.event_id);
    return event.event_id;
  },
  'relationship/delivered_without_reference': async ({ sql }, lead) => {
    await sql(`UPDATE operation SET destination_ref = NULL WHERE event_id = $1 AND kind = 'lead'`, lead);
    return lead.event.event_id;
  },
  'relationship/succeeded_without_attempt': async ({ sql }, lead) => {
    await sql(`DELETE FROM attempt WHERE operation_key = $1 || ':crm:lead'`, lead);
    return lead.event.event_id;
  },
  'relationship/assigned_without_owner': async ({ edit }, { event, leadRef }) => {
    await edit(leadRef, { owner: null });
    return event.event_id;
  },
  'relationship/wrong_contact': async ({ edit, world }, { n, event, leadRef }) => {
    await edit(leadRef, { contact_id: world.leads[n === 0 ? 1 : n - 1]?.contactRef });
    return event.event_id;
  },
  'relationship/told_late': async ({ world }, { event }) => {
    world.toldLate.add(event.event_id);
    return event.event_id;
  },
};

/** Plants `each` faults of every kind. The leads at {@link placesOf} `missing` must never have been written. */
export async function plant(world: World, each: number): Promise<Planted> {
  const tools: Tools = {
    world,
    edit: (ref, fields, by = 'other') => world.crm.call(`PATCH /crm/control/records/${ref}?by=${by}`, fields),
    sql: (text, { event }) => world.deliveries.sql(`plant.${createHash('sha1').update(text).digest('hex')}`, text, [event.event_id]),
  };
  const planted: Planted = new Map();
  for (const kind of kinds) {
    const found = new Set<string>();
    for (const n of placesOf(kind, { leads: world.leads.length, each })) found.add(await plantOne[kind](tools, world.leads[n] as MadeLead));
    planted.set(kind, found);
  }
  return planted;
}

/** An id of our form that nobody ever gave out. */
const idLike = ({ event }: MadeLead): string => newEventId(event.submitted_at.getTime());
