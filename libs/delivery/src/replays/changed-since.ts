import type { ReadRecord } from './records-route.js';

/** A record as it was when it was compared. */
export interface ComparedRecord {
  version?: string;
  changed_at?: string;
}

/** `unread`: nobody can say. */
export type SinceCompared = 'same' | 'changed' | 'unread';

/** Whether anybody has written a record since, or removed it: by its version, else by the time of its last change. */
export function changedSince(now: ReadRecord | undefined, { version, changed_at }: ComparedRecord = {}): SinceCompared {
  if (now?.result === 'absent') return 'changed';
  if (now?.result !== 'found') return 'unread';
  if (now.changed_by === 'other') return 'changed';
  if (version !== undefined && now.version !== undefined) return now.version === version ? 'same' : 'changed';
  if (changed_at !== undefined && now.changed_at !== undefined) return now.changed_at === changed_at ? 'same' : 'changed';
  return 'unread';
}
