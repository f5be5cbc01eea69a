import { createHash } from 'node:crypto';
import { type RepairPlan, wordsOf } from '../reconciliation/repair-plan.js';

/** An item as an approval is bound to it. */
export interface HashedItem {
  event_id: string;
  destination: string;
  mapping_version: number | null;
  request_hash: string | null;
  generation: number | null;
  /** What is to become of each operation; absent: the delivery is tried again. */
  repair?: RepairPlan | null;
}

/** What an approval is bound to beside the items: limits and the reason. Durations in milliseconds. */
export interface BatchCaps {
  max: number;
  rate_per_s: number;
  concurrency: number;
  max_duration_ms: number;
  new_deadline_ms: number;
  /** Items that are sent first; null: as many as the batch's size asks for. */
  canary: number | null;
  reason: string | null;
}

/** SHA-256 (hex) over the items, sorted by event id and destination, and the caps: whatever is edited changes it. */
export function batchHash(items: Iterable<HashedItem>, caps: BatchCaps): string {
  const hash = createHash('sha256');
  const { max, rate_per_s, concurrency, max_duration_ms, new_deadline_ms, canary, reason } = caps;
  hash.update(`v2\n${JSON.stringify([max, rate_per_s, concurrency, max_duration_ms, new_deadline_ms, canary, reason])}\n`);
  const lines = Array.from(items, ({ event_id, destination, mapping_version, request_hash, generation, repair }) =>
    JSON.stringify([event_id, destination, mapping_version, request_hash, generation, ...(repair ? wordsOf(repair) : [])]),
  );
  for (const line of lines.sort()) hash.update(`${line}\n`);
  return hash.digest('hex');
}
