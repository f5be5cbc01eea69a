import type { DeliveryState } from '#contracts';

/** Why a destination is not sent to at the moment. */
export type Blocked = 'hold' | 'failing' | 'throttled' | 'auth';

export interface SummaryDelivery {
  destination: string;
  /** Where sales works. */
  primary: boolean;
  /** It writes to the customer: it needs consent. */
  writesToCustomer: boolean;
  state: DeliveryState;
  class?: string;
  code?: string;
  /** The destination's own id of what was written last. */
  ref?: string;
  /** ISO 8601, as all times here. */
  nextAttemptAt?: string;
  deadlineAt?: string;
  blocked?: Blocked;
}

export interface SummaryNotification {
  channel: string;
  state: string;
}

/** All that the summary of a lead is made from. */
export interface SummaryFacts {
  test: boolean;
  /** Set where nothing was accepted. */
  refused?: { class: string };
  /** Name of who looks after the lead. */
  owner?: string;
  erased: boolean;
  consentWithdrawn: boolean;
  deliveries: readonly SummaryDelivery[];
  /** Undefined: it could not be found out. */
  notifications?: readonly SummaryNotification[];
  /** An approved replay is under way. */
  replaying: boolean;
}

/** Where a lead is, in words for whoever sells. */
export interface Summary {
  what_happened: string;
  next: string;
  /** ISO 8601: when that happens by itself. */
  when?: string;
  /** Who has to do something; nobody, while it goes on by itself. */
  who: string;
  seen_by_customer: string;
  seen_by_sales: string;
}
