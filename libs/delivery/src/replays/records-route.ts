import { z } from 'zod';
import { metrics, type Telemetry } from '#runtime';
import { cleanText } from '../sql/clean-text.js';
import type { VerifiedTarget } from '../swept-target.js';

const mostItems = 16;
const text = z.string().min(1).max(512);

export const recordsReadRequest = z.object({
  items: z
    .array(z.object({ destination: text, kind: text, ref: text }))
    .min(1)
    .max(mostItems),
  /** The longest one read may take, in milliseconds. */
  within_ms: z.number().int().min(100).max(30_000).default(4_000),
});
export type RecordsReadRequest = z.infer<typeof recordsReadRequest>;

/** Of one record at its destination: who has written it last, and when; never what is in it. */
export interface ReadRecord {
  /** `unknown`: it could not be found out, `code` says why. */
  result: 'found' | 'absent' | 'unknown';
  code?: string;
  version?: string;
  /** ISO 8601. */
  changed_at?: string;
  changed_by?: 'us' | 'other';
}

export interface RecordsReadAnswer {
  /** In the order of the request. */
  items: ReadRecord[];
}

/** What a target's read comes to, without what is in the records. */
export type RecordsRead =
  | { ok: true; records: readonly { ref: string; version?: string; changedAt?: string; changedBy?: 'us' | 'other' }[] }
  | { ok: false; class: string; code?: string };

export interface RecordsRouteOptions {
  /** By destination; undefined: this process cannot ask there. */
  verified(destination: string): Pick<VerifiedTarget, 'name' | 'read' | 'timeoutMs' | 'lookupTimeoutMs'> | undefined;
  telemetry: Telemetry;
}

/** Handler of POST /internal/v1/records:read: asks the destinations now. Nothing is changed by it, here or there. */
export function recordsRoute(options: RecordsRouteOptions): (body: RecordsReadRequest) => Promise<RecordsReadAnswer> {
  return async ({ items, within_ms }) => {
    const groups = new Map<string, { destination: string; kind: string; refs: string[] }>();
    for (const { destination, kind, ref } of items) {
      const group = groups.get(`${destination} ${kind}`) ?? { destination, kind, refs: [] };
      groups.set(`${destination} ${kind}`, { ...group, refs: [...new Set([...group.refs, ref])] });
    }
    const answers = new Map(
      await Promise.all([...groups].map(async ([key, group]) => [key, await readGroup(options, group, within_ms)] as const)),
    );
    return { items: items.map(({ destination, kind, ref }) => recordOf(answers.get(`${destination} ${kind}`), ref)) };
  };
}

/** Never rejects. */
async function readGroup(
  { verified, telemetry }: RecordsRouteOptions,
  { destination, kind, refs }: { destination: string; kind: string; refs: string[] },
  withinMs: number,
): Promise<RecordsRead> {
  const target = verified(destination);
  if (target?.read === undefined) return { ok: false, class: 'unknown', code: 'no_read' };
  const span = telemetry.startSpan(`read ${kind} ${target.name}`, { kind: 'client', attributes: { 'lead.destination': destination } });
  const timeoutMs = Math.min(target.lookupTimeoutMs ?? target.timeoutMs, withinMs);
  const answer = await target
    .read({ kind, refs, timeoutMs, trace: span.context })
    .catch((): RecordsRead => ({ ok: false, class: 'unknown', code: 'connector_threw' }));
  span.end(answer.ok ? undefined : { error: answer.code ?? answer.class });
  metrics.lookups.inc({ destination: target.name, outcome: answer.ok ? 'found' : 'unknown' });
  return answer;
}

/** What a read says of one record. */
export function recordOf(answer: RecordsRead | undefined, ref: string): ReadRecord {
  if (answer === undefined || !answer.ok) return { result: 'unknown', code: cleanText(answer?.code ?? answer?.class ?? 'not_read') };
  const found = answer.records.find((record) => record.ref === ref);
  if (found === undefined) return { result: 'absent' };
  const { version, changedAt, changedBy } = found;
  return {
    result: 'found',
    ...(version !== undefined && { version: cleanText(version) }),
    ...(changedAt !== undefined && { changed_at: cleanText(changedAt) }),
    ...(changedBy !== undefined && { changed_by: changedBy }),
  };
}
