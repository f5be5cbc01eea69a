/** What the sandbox lets somebody see and break in one of its CRMs. */
export class CrmWitness {
  constructor(private readonly url: string) {}

  /** Adds a rule; the sandbox counts its uses under `name`. */
  async rule(rule: { name: string } & Record<string, unknown>): Promise<void> {
    await ask(`${this.url}/control`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(rule) });
  }

  /** Takes back every rule of that name. */
  async heal(name: string): Promise<void> {
    await ask(`${this.url}/control?name=${encodeURIComponent(name)}`, { method: 'DELETE' });
  }

  async hits(name: string): Promise<number> {
    return (await ask<Record<string, number>>(`${this.url}/control/hits`))[name] ?? 0;
  }

  /** Of those, the answers that nobody heard: whoever asked was gone. */
  unheard(name: string): Promise<number> {
    return this.hits(`${name}:unheard`);
  }

  /** Requests that asked for this lead to be written, whatever became of them. */
  async requests(eventId: string): Promise<number> {
    return (await ask<{ lead: number }>(`${this.url}/calls?external_id=${encodeURIComponent(eventId)}`)).lead;
  }

  /** Lead records of any of the events. */
  async records(eventIds: readonly string[]): Promise<number> {
    const counts = await this.recordCounts();
    return eventIds.reduce((total, id) => total + (counts.get(id) ?? 0), 0);
  }

  /** Lead records per event id. */
  async recordCounts(): Promise<Map<string, number>> {
    const { leads } = await ask<{ leads: { external_id: string }[] }>(`${this.url}/data`);
    const counts = new Map<string, number>();
    for (const { external_id } of leads) counts.set(external_id, (counts.get(external_id) ?? 0) + 1);
    return counts;
  }
}

/** JSON of an answer of the sandbox. Throws on anything but 2xx. */
export async function ask<T>(url: string, init?: RequestInit): Promise<T> {
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(10_000) });
  if (!answer.ok) throw new Error(`${init?.method ?? 'GET'} ${new URL(url).pathname} answered ${answer.status}`);
  return (await answer.json()) as T;
}
