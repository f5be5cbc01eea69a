import type { Vault, WindowAnswer, WindowRequest } from '#delivery';
import type { Connector } from '#destinations';
import type { Codec } from '#messaging';
import type { Database, Hmacs, Logger, Site } from '#runtime';
import type { Traffic } from '../destinations/traffic.js';

/** The other services as a comparison reads them; each throws InternalUnavailable or InternalRefused. */
export interface Sources {
  /** crm-writer's deliveries. */
  deliveries(asked: WindowRequest): Promise<WindowAnswer>;
  /** notifier's. */
  notifications(asked: WindowRequest): Promise<WindowAnswer>;
  /** Those of these events that intake ever accepted, and whose they are. */
  leadSources(eventIds: readonly string[]): Promise<ReadonlyMap<string, { organization: string; source: string }>>;
  vault: Vault;
}

/** What the comparisons work with. */
export interface RunTools {
  db: Database;
  site: Site;
  codec: Pick<Codec, 'decode'>;
  sources: Sources;
  /** By destination; of every one that is compared. */
  connectors: ReadonlyMap<string, Connector>;
  traffic: Traffic;
  hmacs: Pick<Hmacs, 'personKey' | 'ref'>;
  logger: Logger;
  leaseMs: number;
  /** How long a run stays with one page that another service does not answer for; default one hour. It ends as `failed` then. */
  onePageMs?: number;
}
