import type { Endpoints } from '#testkit';
import { plantFields } from '../privacy/planted.js';

export type Kept = Record<string, unknown> & { id: string };

/** Somebody at the screens of a sandbox CRM: what they do there is no request of ours. Whatever they type about a person is among the planted values. */
export class Desk {
  private readonly url: string;

  /** @param crm the path after the sandbox's first CRM, as `-desk` */
  constructor(endpoints: Pick<Endpoints, 'sandboxCrm'>, crm = '') {
    this.url = `${endpoints.sandboxCrm}${crm}`;
  }

  /** Every lead and contact that stands there, the oldest first. */
  everything(): Promise<{ leads: Kept[]; contacts: Kept[] }> {
    return this.ask('GET', '/data');
  }

  /** The one lead record of an event. */
  async leadOf(eventId: string): Promise<Kept> {
    const found = (await this.everything()).leads.filter(({ external_id }) => external_id === eventId);
    if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} records of the lead`);
    return found[0];
  }

  stats(): Promise<{ records: number; contacts: number; duplicateEffects: number }> {
    return this.ask('GET', '/stats');
  }

  rule(rule: Record<string, unknown>): Promise<unknown> {
    return this.ask('POST', '/control', rule);
  }

  clearRules(): Promise<unknown> {
    return this.ask('DELETE', '/control');
  }

  remove(id: string): Promise<unknown> {
    return this.ask('DELETE', `/control/records/${id}`);
  }

  edit(id: string, fields: Record<string, unknown>): Promise<unknown> {
    plantFields(fields);
    return this.ask('PATCH', `/control/records/${id}`, fields);
  }

  /** @returns the id of a second record with the same fields */
  async copy(id: string): Promise<string> {
    return (await this.ask<{ id: string }>('POST', `/control/records/${id}/copy`, {})).id;
  }

  /** @returns the id of a record that somebody typed in */
  async typeIn(kind: 'lead' | 'contact', fields: Record<string, unknown>): Promise<string> {
    plantFields(fields);
    const { ids } = await this.ask<{ ids: string[] }>('POST', `/control/records/${kind}`, fields);
    return ids[0] ?? '';
  }

  private async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${this.url}${path}`, { method, body: JSON.stringify(body), signal: AbortSignal.timeout(10_000) });
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}`);
    return (await answer.json()) as T;
  }
}
