import { failureOf } from './answer.js';
import type { TrytonRpc } from './rpc.js';

const needed: Readonly<Record<string, readonly string[]>> = {
  'party.party': ['read', 'write', 'create'],
  'party.contact_mechanism': ['read', 'write', 'create'],
  'sale.opportunity': ['read', 'write', 'create'],
};

/** Proves that the server answers, that the user can log in, works for a company, and may write what leads become. Never throws. */
export async function checkRights(rpc: TrytonRpc, timeoutMs: number): Promise<{ ok: boolean; code?: string }> {
  const endsAt = performance.now() + timeoutMs;
  rpc.forgetRefusal();
  const session = await rpc.session({ timeoutMs });
  if (!session.ok) return { ok: false, code: session.failure.code };
  const params = [Object.keys(needed)];
  const result = await rpc.call({ method: 'model.ir.model.access.get_access', params, reads: true, timeoutMs: endsAt - performance.now() });
  if (result.kind !== 'ok') return { ok: false, code: failureOf(result).code };
  if (session.session.context.company === undefined) return { ok: false, code: 'no_company' };
  return mayAll(result.value) ? { ok: true } : { ok: false, code: 'not_allowed' };
}

function mayAll(value: unknown): boolean {
  const access = (value ?? {}) as Record<string, Record<string, unknown> | undefined>;
  return Object.entries(needed).every(([model, rights]) => rights.every((right) => Boolean(access[model]?.[right])));
}
