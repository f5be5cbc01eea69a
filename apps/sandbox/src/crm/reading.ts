import type { Answer, Call } from '../http/call.js';
import { type CrmKind, keyField } from './crm-record.js';
import type { CrmStore } from './crm-store.js';

/** Keys or ids that one call may name, and records on a page. */
const mostAtOnce = 200;

/** Keys of ours that a lookup names: none, one or many. */
export function keysOf(kind: CrmKind, { query }: Call): string[] {
  return query.getAll(keyField[kind]);
}

/**
 * `GET /leads` and `GET /contacts`: every record of the keys (`external_id=…` or `person_key=…`, up to 200 of them) or of the ids (`id=…`,
 * likewise) as an array; with `changed_since` a page `{items, next?}` of what was made or changed from then on and before `changed_before`,
 * oldest change first, `limit` and 200 at most, from `cursor` on; without any of these everything. What is younger than the search lag is in none.
 */
export function search(store: CrmStore, { kind, call, bornBeforeMs }: { kind: CrmKind; call: Call; bornBeforeMs: number }): Answer {
  const keys = keysOf(kind, call);
  const ids = call.query.getAll('id');
  if (keys.length > mostAtOnce || ids.length > mostAtOnce) return { status: 400, body: { error: `more than ${mostAtOnce} at once` } };
  if (keys.length > 0) return { status: 200, body: store.underKeys(kind, keys, bornBeforeMs) };
  if (ids.length > 0) return { status: 200, body: store.byIds(kind, ids, bornBeforeMs) };
  const since = call.query.get('changed_since');
  if (since === null) return { status: 200, body: store.list(kind, bornBeforeMs) };
  const fromMs = Date.parse(since);
  const toMs = timeOf(call.query.get('changed_before'));
  const after = Number(call.query.get('cursor') ?? 0);
  const limit = Math.min(Number(call.query.get('limit') ?? mostAtOnce), mostAtOnce);
  const isReadable = !Number.isNaN(fromMs) && !Number.isNaN(toMs) && after >= 0 && limit >= 1;
  if (!isReadable) return { status: 400, body: { error: 'changed_since, changed_before, cursor or limit cannot be read' } };
  return { status: 200, body: store.inWindow(kind, { fromMs, toMs, after, limit }, bornBeforeMs) };
}

const timeOf = (text: string | null): number => (text === null ? Number.POSITIVE_INFINITY : Date.parse(text));
