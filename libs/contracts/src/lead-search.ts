import type { FailureClass } from './failure-classes.js';
import type { LeadPayload } from './lead-payload.js';
import type { DeliveryState } from './states.js';

/** One lead that a search at intake found, or a refusal of one: by names and references alone. Times here are ISO 8601. */
export interface FoundLead {
  /** Of the lead; of the refusal where nothing was accepted. */
  event_id: string;
  lead_ref: string | null;
  organization: string;
  source: string;
  form: string | null;
  submitted_at: string | null;
  test: boolean;
  /** As the worst of its deliveries, by what intake heard last. */
  state: DeliveryState | 'rejected';
}

/** Where the announcement of a lead is. `parked`: the broker refuses the record. */
export type Announcement = 'in_outbox' | 'parked' | 'announced';

/** A delivery by what intake heard last; its owner knows better. */
export interface CourseDelivery {
  destination: string;
  state: DeliveryState;
  class?: string;
  code?: string;
  owner?: string;
  generation: number;
  operations: { kind: string; state: string; ref?: string }[];
  as_of: string;
  /** Its owner has it since. */
  claimed_at?: string;
  announcements: number;
  announced_at: string;
}

/** A record of the topic `leads` that was refused. */
export interface CourseRefusal {
  rejected_id: string;
  class: FailureClass;
  code: string;
  rejected_at: string;
  topic: string;
  partition: number;
  offset: string;
  errors: { field: string; problem: string; fix: string }[];
}

/** What intake knows of a lead: references, names and times, no personal data. */
export interface LeadCourse {
  event_id: string;
  lead_ref: string | null;
  organization: string;
  source: string;
  form: string | null;
  campaign: string | null;
  policy: string | null;
  owner: string | null;
  test: boolean;
  submitted_at: string | null;
  accepted_at: string | null;
  deadline_at: string | null;
  trace_id: string | null;
  /** Whether the person's data is still kept; `gone`: erased, or its time was over. */
  vault: { state: 'kept' | 'gone'; revision: number; consent_withdrawn_at: string | null; delete_after: string | null };
  /** By an erasure, and not because its time was over. */
  erased: boolean;
  announcement: Announcement | null;
  /** The lead that this one replaces by the word of its source, and those that replace it. */
  supersedes: string | null;
  superseded_by: string[];
  deliveries: CourseDelivery[];
  /** As the notifier said last. */
  notifications: { channel: string; template: string; state: string }[];
  /** Records that were refused under the same submission id; the only content where nothing was accepted. */
  refusals: CourseRefusal[];
}

/** A contact as it is shown to whoever has not been allowed to see it: `A…`, `a…@example.test`, `…23`. Null: the lead has none. */
export interface MaskedContact {
  name: string | null;
  email: string | null;
  phone: string | null;
}

/** Answer of POST /internal/v1/vault:mask. 410: nothing is kept any more. 500: it cannot be opened. */
export interface MaskAnswer {
  status: 200 | 410 | 500;
  revision: number;
  masked: MaskedContact | null;
}

/** The personal fields of a lead in the clear. */
export interface RevealedFields extends MaskedContact {
  message: string | null;
  custom: LeadPayload['custom'];
}

/** Answer of POST /internal/v1/vault:reveal; status as of {@link MaskAnswer}. */
export interface RevealAnswer {
  status: 200 | 410 | 500;
  revision: number;
  fields: RevealedFields | null;
}
