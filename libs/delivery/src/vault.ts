import type { LeadPayload, VaultReadItem } from '#contracts';
import type { InternalClient } from '#runtime';

export type { LeadPayload };

export interface Vault {
  /** Answers in the order of the references, in as many requests as they take. Rejects when the vault can't be asked: no attempt may be made then. */
  read(leadRefs: readonly string[]): Promise<VaultReadItem[]>;
}

/** Most references in one request, by the internal API's contract. */
export const vaultBatch = 500;

/** The vault behind intake's internal API. `read` rejects with InternalUnavailable or InternalRefused. */
export function vaultClient(client: InternalClient): Vault {
  return {
    read: async (leadRefs) => {
      const read: VaultReadItem[] = [];
      for (let at = 0; at < leadRefs.length; at += vaultBatch) {
        const items = leadRefs.slice(at, at + vaultBatch).map((lead_ref) => ({ lead_ref }));
        read.push(...(await client.post<{ items: VaultReadItem[] }>('/internal/v1/vault:read', { items })).items);
      }
      return inOrder(leadRefs, read);
    },
  };
}

/** A reference that the answer leaves out is a fault of the vault, never an erasure. */
function inOrder(leadRefs: readonly string[], items: readonly VaultReadItem[]): VaultReadItem[] {
  const byRef = new Map(items.map((item) => [item.lead_ref, item]));
  return leadRefs.map((ref) => {
    const item = byRef.get(ref);
    if (item === undefined) throw new VaultIncomplete();
    return item;
  });
}

/** The vault answered without all the references it was asked for. */
export class VaultIncomplete extends Error {
  override readonly name = 'VaultIncomplete';
  readonly safeMessage = true;
  constructor() {
    super('the vault left a reference out of its answer');
  }
}
