import type { LeadPayload } from '#contracts';
import type { WindowItem } from '#delivery';
import type { Hmacs } from '#runtime';
import { loadLeads } from './load-page.js';
import type { RunTools } from './tools.js';

/** States in which a lead has not come to its destination and may still. */
export const waitingStates = ['accepted', 'pending', 'in_flight', 'waiting', 'held', 'uncertain', 'dead', 'expired'] as const;

/** Keyed hashes made here are compared here and never stored, so that it does not matter whose leads they are of. */
const namespace = 'twins';

/** Keyed hashes of how a person can be reached, in one form whoever wrote it. */
export function reachedBy(hmacs: Pick<Hmacs, 'personKey'>, { email, phone }: { email?: unknown; phone?: unknown }): string[] {
  const mail = typeof email === 'string' ? email.trim().toLowerCase() : '';
  const digits = typeof phone === 'string' ? phone.replace(/;.*$/, '').replaceAll(/\D/g, '') : '';
  return [
    ...(mail === '' ? [] : [hmacs.personKey(namespace, { email: mail, ref: '' })]),
    ...(digits.length < 7 ? [] : [hmacs.personKey(namespace, { phone: digits, ref: '' })]),
  ];
}

/** As much of a lead as a finding about it says: many may wait, and all of them are held. */
export type WaitingLead = Pick<WindowItem, 'event_id' | 'lead_ref' | 'organization' | 'state'>;

/**
 * The leads of a window that still wait, by keyed hashes of how their people can be reached. Read at most once, and only where a record without
 * our id asks for it.
 */
export class WaitingPeople {
  private known: Promise<ReadonlyMap<string, WaitingLead>> | undefined;

  constructor(private readonly options: { tools: RunTools; destination: string; from: Date; to: Date }) {}

  /** The first of them that can be reached in the same way. */
  async find(hashes: readonly string[]): Promise<WaitingLead | undefined> {
    this.known ??= this.read();
    const known = await this.known;
    return hashes.map((hash) => known.get(hash)).find((item) => item !== undefined);
  }

  private async read(): Promise<ReadonlyMap<string, WaitingLead>> {
    const { tools, destination, from, to } = this.options;
    const people = new Map<string, WaitingLead>();
    for (const outcome of waitingStates) {
      let after: string | undefined;
      do {
        const asked = { destination, from: from.toISOString(), to: to.toISOString(), outcome, after };
        const { items, next } = await tools.sources.deliveries(asked);
        for (const { item, payload } of await loadLeads(tools, items)) this.add(people, item, payload);
        after = next;
      } while (after !== undefined);
    }
    return people;
  }

  private add(people: Map<string, WaitingLead>, item: WindowItem, payload: LeadPayload | undefined): void {
    const { event_id, lead_ref, organization, state } = item;
    const lead = { event_id, lead_ref, organization, state };
    for (const hash of payload === undefined ? [] : reachedBy(this.options.tools.hmacs, payload.contact)) people.set(hash, lead);
  }
}
