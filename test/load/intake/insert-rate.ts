import type { Database } from '#runtime';
import { newEventId, newLeadRef } from '#runtime';
import { prepareLead } from '../../../apps/intake/src/prepare-lead.js';
import { insertLeads } from '../../../apps/intake/src/store/insert-leads.js';
import type { NewLead } from '../../../apps/intake/src/store/new-lead.js';
import { acceptTools, submission } from '../../../apps/intake/test/fixture.js';

/** One lead as the door prepares it; what the benchmark saves are copies of it with ids of their own. */
export function sampleLead(db: Database): NewLead {
  const tools = acceptTools(db);
  const { context } = tools.telemetry.startSpan('bench', { kind: 'server' });
  return prepareLead(tools, submission({ custom: { page: '/offers/autumn' } }), { now: new Date(), trace: context }).row;
}

/** Leads per second through our own insert, `clients` statements at once of `size` leads each. */
export async function insertRate(db: Database, sample: NewLead, run: { clients: number; size: number; seconds: number }): Promise<number> {
  const startedMs = performance.now();
  const endMs = startedMs + run.seconds * 1_000;
  let saved = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const leads = Array.from({ length: run.size }, () => copyOf(sample));
      await insertLeads(db, leads);
      saved += run.size;
    }
  };
  await Promise.all(Array.from({ length: run.clients }, client));
  return (saved * 1_000) / (performance.now() - startedMs);
}

/** The same lead under ids of its own. */
export function copyOf(sample: NewLead): NewLead {
  const eventId = newEventId();
  return { ...sample, eventId, externalRef: eventId.replaceAll('-', ''), leadRef: newLeadRef() };
}
