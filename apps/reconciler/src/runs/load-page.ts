import { type LeadAccepted, LeadAcceptedEvent, type LeadPayload } from '#contracts';
import type { WindowItem } from '#delivery';
import type { RunTools } from './tools.js';

/** One delivery with what it was made of. */
export interface LoadedLead {
  item: WindowItem;
  event: LeadAccepted;
  /** The lead as it is now; absent where its row cannot be opened. Held for as long as its page is compared. */
  payload?: LeadPayload;
}

/**
 * Reads what these deliveries were made of. Leads that were erased are left out: nothing of them is compared. Throws InternalUnavailable where
 * the vault does not answer.
 */
export async function loadLeads(
  { codec, sources }: Pick<RunTools, 'codec' | 'sources'>,
  items: readonly WindowItem[],
): Promise<LoadedLead[]> {
  const live = items.filter(({ state }) => state !== 'erased');
  if (live.length === 0) return [];
  const refs = [...new Set(live.map(({ lead_ref }) => lead_ref))];
  const read = new Map((await sources.vault.read(refs)).map((item) => [item.lead_ref, item]));
  const leads: LoadedLead[] = [];
  for (const item of live) {
    const kept = read.get(item.lead_ref);
    if (kept === undefined || kept.status === 410) continue;
    const event = await codec.decode(LeadAcceptedEvent, Buffer.from(item.event, 'base64'));
    leads.push({ item, event, ...(kept.status === 200 && { payload: kept.payload }) });
  }
  return leads;
}
