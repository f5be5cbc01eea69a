import type { JWK } from 'jose';
import type { Database, Logger, Site } from '#runtime';
import type { OwnerApi } from '../owners/owner-api.js';
import type { ReconcilerApi } from '../reconciliation/reconciler-api.js';
import type { ReplayOwner, Vault } from './replay-owner.js';

/** What batches are made, judged and sent with. */
export interface BatchTools {
  db: Database;
  /** By service; each owns deliveries. */
  owners: ReadonlyMap<string, Pick<OwnerApi, 'destinations' | 'histories'>>;
  replays: ReadonlyMap<string, ReplayOwner>;
  vault: Vault;
  /** Says what differs at destinations; batches that repair it are judged by that. */
  reconciler: Pick<ReconcilerApi, 'discrepancies' | 'settle'>;
  site: Pick<Site, 'policies' | 'destinations' | 'channels' | 'operator'>;
  /** Signs permits. */
  privateKey: JWK;
  relayWake: () => void;
  logger: Logger;
}
