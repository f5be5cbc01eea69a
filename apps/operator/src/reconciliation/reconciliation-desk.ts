import type { Database, Site } from '#runtime';
import type { BatchTools } from '../batches/tools.js';
import type { ReconcilerApi } from './reconciler-api.js';

export interface ReconciliationTools {
  db: Database;
  site: Pick<Site, 'routing' | 'sources' | 'destinations'>;
  reconciler: ReconcilerApi;
  /** What batches are made with. */
  batches: BatchTools;
}

/** What reconciliation is shown and decided with. */
export class ReconciliationDesk {
  constructor(readonly tools: ReconciliationTools) {}
}
