import { pause } from '#testkit';
import { type Facts, sum, tally } from './facts.js';
import type { Scene } from './tour-row.js';
import type { CrmName, Journey, Lead, NewLead, World } from './world.js';

/** Where the leads of each form of the tour go. */
export const routes = {
  contact: { crm: 'crm', destination: 'sandbox-crm' },
  'tour-nobody': { crm: 'crm', destination: 'sandbox-crm' },
  'tour-crm': { crm: 'tour', destination: 'tour-crm' },
  'tour-door': { crm: 'door', destination: 'tour-door' },
  'tour-blind': { crm: 'blind', destination: 'tour-blind' },
  'tour-tls': { crm: 'tour', destination: 'tour-tls' },
  'tour-dns': { crm: 'tour', destination: 'tour-dns' },
} as const satisfies Record<string, { crm: CrmName; destination: string }>;

export type Form = keyof typeof routes;

/** The next lead of a row; each has a person of its own. */
export function newLead({ campaign }: Scene, form: string, n = 0, more: Partial<NewLead> = {}): NewLead {
  return { sourceEventId: `${campaign}-${n}`, form, campaign, person: n, ...more };
}

/** Hands one lead in. Throws unless it is accepted: the row could not run. */
export async function accepted(world: World, lead: NewLead): Promise<Lead> {
  const { status, body } = await world.post(lead);
  if (status !== 202) throw new Error(`the lead was answered ${status}`);
  return { eventId: String(body.event_id), leadRef: String(body.lead_ref), sourceEventId: lead.sourceEventId };
}

/** Hands in so many leads at once. */
export function handIn(scene: Scene, form: Form, count: number): Promise<Lead[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => accepted(scene.world, newLead(scene, form, n))));
}

/** State of the delivery to the form's destination; with the class in brackets where it ended without effect. */
export function stateIn(journey: Journey | undefined, destination: string): string {
  const delivery = journey?.deliveries.find((one) => one.destination === destination);
  if (delivery === undefined) return 'not known';
  return delivery.class === undefined ? delivery.state : `${delivery.state} (${delivery.class})`;
}

/** How the leads ended, and how many records they made: what every row wants to know. */
export async function readOutcome(world: World, form: Form, leads: readonly Lead[]): Promise<{ outcome: string; records: number }> {
  const { destination } = routes[form];
  const journeys = await Promise.all(leads.map(({ eventId }) => world.journey({ eventId })));
  const records = await world.crm(routes[form].crm).records(leads.map(({ eventId }) => eventId));
  return { outcome: tally(journeys.map((journey) => stateIn(journey, destination))), records };
}

/** The same with the requests that asked for a write. */
export async function readEffects(world: World, form: Form, leads: readonly Lead[]): Promise<Facts> {
  return { ...(await readOutcome(world, form, leads)), requests: await readRequests(world, form, leads) };
}

export async function readRequests(world: World, form: Form, leads: readonly Lead[]): Promise<number> {
  const crm = world.crm(routes[form].crm);
  return sum(await Promise.all(leads.map(({ eventId }) => crm.requests(eventId))));
}

/** Waits until a count has come to `least`. Throws after `limitMs`, saying what it waited for: the row could not run. */
export async function reaches(what: string, count: () => Promise<number>, least = 1, limitMs = 15_000): Promise<number> {
  const giveUpAt = performance.now() + limitMs;
  for (;;) {
    const now = await count().catch(() => 0);
    if (now >= least) return now;
    if (performance.now() > giveUpAt) throw new Error(`waited ${limitMs / 1_000} s in vain for ${least} × ${what} (got ${now})`);
    await pause(50);
  }
}
