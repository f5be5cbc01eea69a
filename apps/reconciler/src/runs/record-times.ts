import type { FoundRecord } from '#destinations';
import type { Finding } from '../compare/finding.js';

/** When a record was made and changed, as far as it says so. */
export function timesOf({ createdAt, changedAt }: FoundRecord): Finding['evidence'] {
  return { ...(createdAt !== undefined && { created_at: createdAt }), ...(changedAt !== undefined && { changed_at: changedAt }) };
}
