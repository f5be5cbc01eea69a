import type { LeadPayload, VaultReadItem } from '#contracts';
import type { Logger } from '#runtime';
import type { Rest } from './policy/conclude.js';
import type { Vault } from './vault.js';
import { VaultReads } from './vault-reads.js';
import type { Work } from './work.js';

export interface PayloadsOptions {
  vault?: Vault;
  target: string;
  logger: Logger;
  /** The vault does not answer, and answers again. */
  onAway(): void;
  onBack(): void;
}

/** `away`: nothing may be sent now. A `Rest`: this delivery is not sent, now or ever. */
export type PayloadRead = { kind: 'read'; payload?: LeadPayload } | { kind: 'away' } | Rest;

/** Until a lead is tried again whose vault row cannot be opened: its key may have to be brought back. It spends its deadline alone. */
const unreadableAgainMs = 60_000;

/** What the vault says of a lead before it is sent. */
export class Payloads {
  readonly #options: PayloadsOptions;
  readonly #reads?: VaultReads;

  constructor(options: PayloadsOptions) {
    this.#options = options;
    if (options.vault) this.#reads = new VaultReads({ ...options, vault: options.vault });
  }

  async of({ plan }: Work<unknown>): Promise<PayloadRead> {
    if (!plan.needsVault || this.#reads === undefined) return { kind: 'read' };
    let item: VaultReadItem;
    try {
      item = await this.#reads.read(plan.leadRef);
    } catch (error) {
      this.#options.onAway();
      this.#reads.unreachable(error, plan.leadRef);
      return { kind: 'away' };
    }
    if (item.status === 410) return { kind: 'ended', state: 'erased', code: 'erased' };
    if (item.status === 500) return { kind: 'later', code: 'vault_unreadable', delayMs: unreadableAgainMs };
    if (item.consent_withdrawn && plan.needsConsent) return { kind: 'ended', state: 'discarded', code: 'consent_withdrawn' };
    return { kind: 'read', payload: item.payload };
  }

  stop(): void {
    this.#reads?.stop();
  }
}
