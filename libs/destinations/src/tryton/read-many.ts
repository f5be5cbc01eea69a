import type { ChangedQuery, FoundRecord, ReadAnswer, ReadQuery } from '../connector.js';
import { failureOf } from './answer.js';
import { followedContact, foundContact, foundLead } from './compare.js';
import { followMerges } from './follow-merges.js';
import { type CallLimits, readOpportunities, readParties } from './read-records.js';
import { datetime } from './records.js';
import type { TrytonRpc } from './rpc.js';

/** Ids and keys that one search names at most. */
export const mostKeys = 200;

const keyFields: Readonly<Record<string, string>> = { contact: 'code', lead: 'reference' };

/** Records by key or by id, in one search, and one more for each step of merges that leads on from them. */
export function readByKeys(rpc: TrytonRpc, { kind, keys, refs, trace, timeoutMs }: ReadQuery): Promise<ReadAnswer> {
  const keyField = keyFields[kind];
  if (keyField === undefined) return Promise.resolve(refused('unknown_kind'));
  if ((keys?.length ?? 0) + (refs?.length ?? 0) > mostKeys) return Promise.resolve(refused('too_many_keys'));
  const ids = (refs ?? []).map(Number).filter(Number.isSafeInteger);
  const clauses = [...(keys === undefined ? [] : [[keyField, 'in', keys]]), ...(refs === undefined ? [] : [['id', 'in', ids]])];
  return find(rpc, { kind, clauses: clauses.length > 1 ? [['OR', ...clauses]] : clauses, follow: true, trace, timeoutMs });
}

const refused = (code: string): ReadAnswer => ({ ok: false, class: 'permanent', code });

/**
 * A page of what was made or changed in a time, in the order of ids: new records come last, and none is passed over or shown twice while
 * others are written. The date of change is empty until the first change.
 */
export async function readChanged(rpc: TrytonRpc, { kind, from, to, cursor, limit, timeoutMs }: ChangedQuery): Promise<ReadAnswer> {
  if (keyFields[kind] === undefined) return refused('unknown_kind');
  const within = (field: string) => [
    [field, '>=', datetime(from)],
    [field, '<', datetime(to)],
  ];
  // Somebody who corrects a number may touch it alone, and not the party that it belongs to.
  const own = ['write_date', 'create_date'];
  const dates = kind === 'contact' ? [...own, ...own.map((field) => `contact_mechanisms.${field}`)] : own;
  const clauses = [['OR', ...dates.map(within)], ...(cursor === undefined ? [] : [['id', '>', Number(cursor)]])];
  const answer = await find(rpc, { kind, clauses, limit: limit + 1, timeoutMs });
  if (!answer.ok || answer.records.length <= limit) return answer;
  const records = answer.records.slice(0, limit);
  return { ok: true, records, next: records.at(-1)?.ref };
}

interface Find extends CallLimits {
  kind: string;
  clauses: readonly unknown[];
  limit?: number;
  /** A party that was merged is read as the one that stands for it. */
  follow?: boolean;
}

async function find(rpc: TrytonRpc, { kind, clauses, follow, ...limits }: Find): Promise<ReadAnswer> {
  const session = await rpc.session({ timeoutMs: limits.timeoutMs });
  if (!session.ok) return readFailure(session.failure);
  const { userId } = session.session;
  if (kind === 'contact') {
    const read = await readParties(rpc, clauses, limits);
    if (!read.ok) return readFailure(failureOf(read.result));
    if (!follow) return found(read.records.map((party) => foundContact(party, { userId })));
    const followed = await followMerges(rpc, read.records, { trace: limits.trace, timeoutMs: limits.timeoutMs });
    return followed.ok ? found(followed.records.map((one) => followedContact(one, { userId }))) : readFailure(failureOf(followed.result));
  }
  const read = await readOpportunities(rpc, clauses, limits);
  return read.ok ? found(read.records.map((one) => foundLead(one, { userId }))) : readFailure(failureOf(read.result));
}

const found = (records: FoundRecord[]): ReadAnswer => ({ ok: true, records });

function readFailure({ kind, code, afterMs }: ReturnType<typeof failureOf>): ReadAnswer {
  return { ok: false, class: kind, code, ...(afterMs !== undefined && { retryAfterMs: afterMs }) };
}
