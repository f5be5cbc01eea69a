import { appendFileSync } from 'node:fs';
import type { Endpoints } from '#testkit';
import { plantFields } from '../privacy/planted.js';

export interface OperatorAnswer<T = Record<string, unknown>> {
  status: number;
  headers: Headers;
  body: T;
}

type Role = keyof Endpoints['operatorTokens'];

/** Operator as a person uses it. What is typed about a person is among the planted values. Every body that it answers is appended to `evidenceFile`, where the scan for personal data reads it. */
export class OperatorClient {
  constructor(
    private readonly endpoints: Pick<Endpoints, 'operator' | 'operatorTokens'>,
    private readonly evidenceFile?: string,
  ) {}

  /** GET without a body, else POST. `unseen`: the answer holds personal data on purpose and is not kept. */
  async ask<T = Record<string, unknown>>(role: Role, path: string, body?: unknown, { unseen = false } = {}): Promise<OperatorAnswer<T>> {
    plantTyped(body);
    const answer = await fetch(`${this.endpoints.operator}/v1/${path}`, {
      headers: { authorization: `Bearer ${this.endpoints.operatorTokens[role] ?? ''}`, 'content-type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await answer.text();
    if (this.evidenceFile !== undefined && !unseen) appendFileSync(this.evidenceFile, `${text}\n`);
    return { status: answer.status, headers: answer.headers, body: (text === '' ? {} : JSON.parse(text)) as T };
  }
}

/** Whom an erasure is about, and what a correction changes. */
function plantTyped(body: unknown): void {
  plantFields(body);
  if (typeof body === 'object' && body !== null && 'changes' in body) plantFields(body.changes);
}
