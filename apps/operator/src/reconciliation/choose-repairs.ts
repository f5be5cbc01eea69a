import type { z } from 'zod';
import type { BatchTools } from '../batches/tools.js';
import type { Person } from '../people/person.js';
import { listDiscrepancies, readDiscrepancies } from './discrepancies.js';
import { reconcilerPage } from './reconciler-api.js';
import type { leftOut, RepairsRequest } from './repairs-request.js';
import type { DiscrepancyItem } from './shapes.js';

export interface Chosen {
  found: DiscrepancyItem[];
  left_out: z.infer<typeof leftOut>;
}

/** What can be repaired of what was asked for, and how much cannot. Rejects with the refusal 503. */
export async function chooseRepairs(tools: BatchTools, request: RepairsRequest, person: Person): Promise<Chosen> {
  const { ids, max } = request;
  const asked = ids === undefined ? await filtered(tools, request, person) : await readDiscrepancies(tools, ids, person);
  const open = asked.filter(({ state }) => state === 'open' || state === 'repair_failed');
  const able = open.filter(({ repair, event_id }) => repair !== undefined && event_id !== undefined);
  return {
    found: able.slice(0, max),
    left_out: {
      no_repair: open.length - able.length,
      settled: asked.length - open.length,
      unknown: ids === undefined ? 0 : new Set(ids).size - asked.length,
      no_letter: 0,
      over_max: Math.max(0, able.length - max),
    },
  };
}

async function filtered(tools: BatchTools, { filter = {}, max }: RepairsRequest, person: Person): Promise<DiscrepancyItem[]> {
  const found: DiscrepancyItem[] = [];
  for (const state of ['open', 'repair_failed'] as const) {
    for (let after: string | undefined; found.length < max; ) {
      const page = await listDiscrepancies(tools, { ...filter, state, after, limit: reconcilerPage }, person);
      found.push(...page.items);
      if (page.next === undefined) break;
      after = page.next;
    }
  }
  return found;
}
