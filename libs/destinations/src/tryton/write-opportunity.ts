import type { Outcome } from '#delivery';
import type { TraceContext } from '#runtime';
import { failureOf, permanently, type RpcResult } from './answer.js';
import type { OpportunityFields } from './mapping.js';
import { readOpportunities } from './read-records.js';
import type { Opportunity } from './records.js';
import type { TrytonRpc } from './rpc.js';
import { createdOutcome } from './write-party.js';

export interface OpportunityWrite {
  /** The event's id. Nothing keeps two opportunities from sharing it: only the claim before the write does. */
  reference: string;
  fields: OpportunityFields;
  /** Id of the person's party. */
  party?: string;
  /** Id of the employee who gets it. */
  employee?: number;
  /** Its own id, where the operation had succeeded before: it is mended then, and made again where it is gone. */
  ref?: string;
  trace?: TraceContext;
  timeoutMs: number;
}

/** Makes the lead's opportunity, or gives one that we made what is missing. */
export async function writeOpportunity(rpc: TrytonRpc, write: OpportunityWrite): Promise<Outcome> {
  const endsAt = performance.now() + write.timeoutMs;
  if (write.party === undefined) return permanently('no_party');
  if (write.ref !== undefined) {
    const mended = await mend(rpc, write, endsAt);
    if (mended !== undefined) return mended;
  }
  const { reference, fields, party, employee, trace } = write;
  const values = { reference, ...fields, party: Number(party), ...(employee !== undefined && { employee }) };
  const context = { method: 'model.sale.opportunity.create', params: [[values]], trace, timeoutMs: endsAt - performance.now() };
  const created = await rpc.call(context);
  return created.kind === 'ok' ? createdOutcome(created.value) : failureOf(created);
}

/** `undefined`: it is not there any more. */
async function mend(rpc: TrytonRpc, write: OpportunityWrite, endsAt: number): Promise<Outcome | undefined> {
  const limits = () => ({ trace: write.trace, timeoutMs: endsAt - performance.now() });
  const read = await readOpportunities(rpc, [['id', '=', Number(write.ref)]], { ...limits(), limit: 1 });
  if (!read.ok) return failureOf(read.result);
  const [found] = read.records;
  if (found === undefined) return undefined;
  const session = await rpc.session(limits());
  if (!session.ok) return session.failure;
  const values = missing(write, found, found.userId === session.session.userId);
  if (Object.keys(values).length === 0) return { kind: 'succeeded', ref: write.ref };
  const context = found.timestamp === undefined ? {} : { _timestamp: { [`sale.opportunity,${found.id}`]: found.timestamp } };
  const result: RpcResult = await rpc.call({ method: 'model.sale.opportunity.write', params: [[found.id], values], context, ...limits() });
  return result.kind === 'ok' ? { kind: 'succeeded', ref: write.ref, status: 200 } : failureOf(result);
}

/** What a person has changed since stays as it is; what is empty is filled in. */
function missing({ fields, party, employee }: OpportunityWrite, found: Opportunity, isOurs: boolean): Record<string, unknown> {
  const wanted = { ...fields, party: Number(party), ...(employee !== undefined && { employee }) };
  const values = Object.entries(wanted).filter(([name, value]) => {
    const present = found[name as keyof typeof wanted];
    return present === undefined || (isOurs && present !== value);
  });
  return Object.fromEntries(values);
}
