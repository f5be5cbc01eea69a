import { eventually } from './eventually.js';
import type { OpenStack } from './stack.js';
import { leadBody } from './traffic.js';

type Role = 'viewer' | 'operator' | 'approver' | 'admin';

export interface BatchReport {
  state: string;
  hash: string;
  counts: Record<string, number>;
  verdicts: Record<string, number>;
  canary: { size: number; ended: number; verified: number; lookups: number };
  stopped_by?: string;
  why?: { code: string; detail: string | null };
}

export interface BatchItem {
  event_id: string;
  destination: string;
  state: string;
  verdict: string;
  canary: boolean;
  sent_at: string | null;
  closed_at: string | null;
  operation_keys: string[];
}

/** The operator's REST API as people of its roles use it, for replay batches. */
export class BatchClient {
  constructor(private readonly open: OpenStack) {}

  /** The JSON of an answer, whatever its status; asked again while the service is away. */
  async ask<T>(role: Role, path: string, body?: unknown): Promise<{ status: number; json: T }> {
    const { operator, operatorTokens } = this.open.endpoints();
    const response = await fetch(`${operator}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${operatorTokens[role]}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    return { status: response.status, json: (await response.json()) as T };
  }

  /** Throws with the answer where it is no success. */
  async done<T>(role: Role, path: string, body?: unknown): Promise<T> {
    const { status, json } = await this.ask<T>(role, path, body);
    if (status >= 300) throw new Error(`${path} answered ${status}: ${JSON.stringify(json)}`);
    return json;
  }

  /** Draft and dry run by the operator, approval by the approver. Gives the batch's id and hash. */
  async approved(draft: Record<string, unknown>): Promise<{ batch_id: string; hash: string }> {
    const { batch_id } = await this.done<{ batch_id: string }>('operator', '/v1/batches', { reason: 'mended', ...draft });
    const { hash } = await this.done<{ hash: string }>('operator', `/v1/batches/${batch_id}/dry-run`, {});
    await this.done('approver', `/v1/batches/${batch_id}/approve`, { hash });
    return { batch_id, hash };
  }

  report(batchId: string): Promise<BatchReport> {
    return this.done<BatchReport>('viewer', `/v1/batches/${batchId}`);
  }

  async items(batchId: string): Promise<BatchItem[]> {
    const items: BatchItem[] = [];
    for (let after: string | undefined = '0'; after !== undefined; ) {
      const page: { items: BatchItem[]; next?: string } = await this.done(
        'viewer',
        `/v1/batches/${batchId}/items?limit=500&after=${after}`,
      );
      items.push(...page.items);
      after = page.next;
    }
    return items;
  }
}

const atOnce = 20;

/** Runs it for each, twenty at once. Results in their order. */
export async function inWaves<T, R>(all: readonly T[], run: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < all.length; from += atOnce) results.push(...(await Promise.all(all.slice(from, from + atOnce).map(run))));
  return results;
}

/** Hands in leads that the CRM refuses for good, and waits until each is dead and has its letter. Gives their event ids. */
export async function deadLeads(
  open: OpenStack,
  client: BatchClient,
  { count, prefix }: { count: number; prefix: string },
): Promise<string[]> {
  await open.sandbox.control({ operation: 'lead', status: 422 });
  const post = (n: number): Promise<string> =>
    eventually(async () => {
      const answer = await open.intake.post(leadBody(`${prefix}-${n}`, n));
      if (answer.status !== 202) throw new Error(`intake answered ${answer.status}`);
      return String(answer.body.event_id);
    }, 60_000);
  const ids = await inWaves(
    Array.from({ length: count }, (_, index) => index),
    post,
  );
  await inWaves(ids, (id) =>
    eventually(
      async () => {
        const { items } = await client.done<{ items: { destination: string }[] }>('viewer', `/v1/dead-letters/${id}`);
        if (!items.some(({ destination }) => destination === 'sandbox-crm')) throw new Error('no dead letter yet');
        // They become dead one after the other, on two cores at fifty a second.
      },
      120_000 + count * 20,
    ),
  );
  await open.sandbox.clearRules();
  return ids;
}
