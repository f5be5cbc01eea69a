import type { Endpoints } from '#testkit';

export interface CrmStats {
  readonly records: number;
  readonly contacts: number;
  readonly duplicateEffects: number;
  readonly requests: number;
  readonly lookups: number;
  readonly maxInFlight: number;
  readonly inFlight: number;
}

export interface ChatStats {
  readonly messages: number;
  readonly duplicates: number;
}

async function json<T>(url: string, init?: RequestInit): Promise<T> {
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(10_000) });
  if (!answer.ok && init?.method !== undefined) throw new Error(`${init.method} ${url} answered ${answer.status}`);
  return (await answer.json().catch(() => ({}))) as T;
}

/** The sandbox as a witness: what really arrived at the CRM and in the chat. */
export class Sandbox {
  constructor(private readonly endpoints: Endpoints) {}

  crmStats(): Promise<CrmStats> {
    return json(`${this.endpoints.sandboxCrm}/stats`);
  }

  chatStats(): Promise<ChatStats> {
    return json(`${this.endpoints.sandboxChat}/stats`);
  }

  /** Lead records per event id, all of them in one reading. */
  async leadCounts(): Promise<Map<string, number>> {
    const { leads } = await json<{ leads: { external_id: string }[] }>(`${this.endpoints.sandboxCrm}/data`);
    const counts = new Map<string, number>();
    for (const { external_id } of leads) counts.set(external_id, (counts.get(external_id) ?? 0) + 1);
    return counts;
  }

  /** Lead records of one event id, in the order they were made. */
  leads(eventId: string): Promise<Record<string, unknown>[]> {
    return json(`${this.endpoints.sandboxCrm}/leads?external_id=${encodeURIComponent(eventId)}`);
  }

  /** Messages whose text names the lead. */
  async messages(): Promise<{ text: string; chat_id: string | number; traceparent?: string }[]> {
    return json(`${this.endpoints.sandboxChat}/messages`);
  }

  /** Adds a rule to the CRM; the last rule that matches a request wins. */
  control(rule: Record<string, unknown>): Promise<unknown> {
    return json(`${this.endpoints.sandboxCrm}/control`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(rule),
    });
  }

  clearRules(): Promise<unknown> {
    return json(`${this.endpoints.sandboxCrm}/control`, { method: 'DELETE' });
  }

  controlMarketing(rule: Record<string, unknown>): Promise<unknown> {
    return json(`${this.endpoints.sandboxMarketing}/control`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(rule),
    });
  }

  clearMarketingRules(): Promise<unknown> {
    return json(`${this.endpoints.sandboxMarketing}/control`, { method: 'DELETE' });
  }
}
