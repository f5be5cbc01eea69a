import type { TraceContext } from '#runtime';
import type { RpcResult } from './answer.js';
import { type Opportunity, opportunityOf, opportunityRows, type Party, partyOf, partyRows, rows } from './records.js';
import type { TrytonRpc } from './rpc.js';

/** What limits and marks a call. */
export interface CallLimits {
  trace?: TraceContext;
  timeoutMs: number;
}

export type Read<R> = { ok: true; records: R[] } | { ok: false; result: Exclude<RpcResult, { kind: 'ok' }> };

/** Parties that somebody has put away hold their code all the same. */
const alsoInactive = ['active', 'in', [true, false]];

/** Parties that fit a clause, the oldest first. */
export function readParties(rpc: TrytonRpc, clauses: readonly unknown[], limits: CallLimits & { limit?: number }): Promise<Read<Party>> {
  return searchRead(rpc, { model: 'party.party', domain: [...clauses, alsoInactive], fields: partyRows, ...limits }, partyOf);
}

/** Opportunities that fit a clause, the oldest first. */
export function readOpportunities(
  rpc: TrytonRpc,
  clauses: readonly unknown[],
  limits: CallLimits & { limit?: number },
): Promise<Read<Opportunity>> {
  return searchRead(rpc, { model: 'sale.opportunity', domain: clauses, fields: opportunityRows, ...limits }, opportunityOf);
}

interface Search extends CallLimits {
  model: string;
  domain: readonly unknown[];
  fields: readonly string[];
  /** Default: all. */
  limit?: number;
}

async function searchRead<R>(rpc: TrytonRpc, search: Search, of: (row: Record<string, unknown>) => R): Promise<Read<R>> {
  const { model, domain, fields, limit, trace, timeoutMs } = search;
  const params = [domain, 0, limit ?? null, [['id', 'ASC']], fields];
  const result = await rpc.call({ method: `model.${model}.search_read`, params, reads: true, trace, timeoutMs });
  if (result.kind !== 'ok') return { ok: false, result };
  if (!Array.isArray(result.value))
    return { ok: false, result: { kind: 'failed', failure: { kind: 'uncertain', code: 'unexpected_answer' } } };
  return { ok: true, records: rows(result.value).map(of) };
}
