import type { ReadRecord } from './records-route.js';

/** A record as it was when it was compared. */
export interface ComparedRecord {
  version?: string;
  changed_at?: string;
}

/** Whether anybody has written a record since: by its version, else by the time of its last change. `unread`: nobody can say. */
export function changedSince(now: ReadRecord | undefined, { version, changed_at }: ComparedRecord = {}): 'same' | 'changed' | 'unread' {
  if (now === undefined || now.result !== 'found') return 'unread';
  if (now.changed_by === 'other') return 'changed';
  if (version !== undefined && now.version !== undefined) return now.version === version ? 'same' : 'changed';
  if (changed_at !== undefined && now.changed_at !== undefined) return now.changed_at === changed_at ? 'same' : 'changed';
  return 'unread';
}
