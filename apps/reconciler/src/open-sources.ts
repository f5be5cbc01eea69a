import { type LeadSourcesAnswer, leadSourcesLimit, vaultClient, type WindowAnswer, type WindowRequest } from '#delivery';
import { ConfigError, type InternalClient, internalClient } from '#runtime';
import { askInParts, inParts } from './in-parts.js';
import type { Sources } from './runs/tools.js';

/** A page of 500 deliveries with their events takes a busy service a fraction of it. */
const timeoutMs = 10_000;
const needed = ['intake', 'crm-writer', 'notifier', 'operator'] as const;

/** A client of each service that is read. */
export type Clients = Readonly<Record<(typeof needed)[number], InternalClient>>;

/** Throws ConfigError with every service that INTERNAL_URLS does not name. */
export function openClients(urls: Readonly<Record<string, string>>, token: string): Clients {
  const missing = needed.filter((name) => urls[name] === undefined);
  if (missing.length > 0) {
    const fix = 'Add its internal base URL: what was delivered is read there';
    throw new ConfigError(missing.map((name) => ({ path: 'INTERNAL_URLS', problem: `does not name ${name}`, fix })));
  }
  const open = (name: (typeof needed)[number]) => internalClient({ baseUrl: urls[name] ?? '', token, timeoutMs });
  return { intake: open('intake'), 'crm-writer': open('crm-writer'), notifier: open('notifier'), operator: open('operator') };
}

/** The other services as a comparison reads them: of as many leads as it may come to name, in as many requests as they take. */
export function sourcesOf(clients: Pick<Clients, 'intake' | 'crm-writer' | 'notifier'>): Sources {
  const window = (client: InternalClient) => (asked: WindowRequest) =>
    askInParts((part) => client.post<WindowAnswer>('/internal/v1/deliveries:window', part), asked);
  return {
    deliveries: window(clients['crm-writer']),
    notifications: window(clients.notifier),
    leadSources: async (eventIds) => {
      const found = await inParts(eventIds, leadSourcesLimit, async (part) => {
        const items = part.map((event_id) => ({ event_id }));
        return (await clients.intake.post<LeadSourcesAnswer>('/internal/v1/leads:sources', { items })).items;
      });
      return new Map(found.map(({ event_id, ...whose }) => [event_id, whose]));
    },
    vault: vaultClient(clients.intake),
  };
}
