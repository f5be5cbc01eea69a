import type { Sql } from '#runtime';
import { type Withdrawal, withdrawConsent } from './withdraw-consent.js';

/** What sources say of consent after the lead was handed in. */
export class Consents {
  constructor(private readonly db: Sql) {}

  /** Throws DatabaseUnavailable. */
  withdraw(of: { organization: string; source: string }, eventId: string, at?: Date): Promise<Withdrawal> {
    return withdrawConsent(this.db, { eventId, at, of });
  }
}
