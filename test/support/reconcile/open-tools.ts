import { createConnector } from '#destinations';
import { type Database, type DestinationConfig, internalClient, openDatabase, type Site } from '#runtime';
import { sourcesOf } from '../../../apps/reconciler/src/open-sources.js';
import type { RunTools } from '../../../apps/reconciler/src/runs/tools.js';
import { reconcilerDatabaseSettings } from '../../../apps/reconciler/src/storage.js';
import { codec, keyed, silent, token } from './leads.js';
import type { World } from './world.js';

export function openReconcilerDatabase(url: string): Promise<Database> {
  return openDatabase({
    url,
    role: 'ld_reconciler',
    schema: 'reconciler',
    applicationName: 'reconciler-spec',
    settings: reconcilerDatabaseSettings,
  });
}

export interface OpenTools {
  tools: RunTools;
  close(): Promise<void>;
}

/** What a reconciler process works with, over HTTP and PostgreSQL. */
export async function openTools(world: Pick<World, 'url' | 'databaseUrl'> & { site: Site }, db?: Database): Promise<OpenTools> {
  const { site, url, databaseUrl } = world;
  const client = internalClient({ baseUrl: url, token, timeoutMs: 10_000 });
  const config = site.destinations.crm as DestinationConfig;
  const connector = createConnector({ name: 'crm', config, secretsDir: '/', hmacs: keyed });
  const own = db ?? (await openReconcilerDatabase(databaseUrl));
  const tools: RunTools = {
    db: own,
    site,
    codec,
    sources: sourcesOf({ intake: client, 'crm-writer': client, notifier: client }),
    connectors: new Map([['crm', connector]]),
    traffic: { busy: () => Promise.resolve(undefined) },
    hmacs: keyed,
    logger: silent,
    leaseMs: 3_000,
  };
  return {
    tools,
    close: async () => {
      await client.close();
      await connector.close();
      await own.close();
    },
  };
}
