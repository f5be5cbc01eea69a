import { z } from 'zod';
import type { DeliveryState, OperationState } from '#contracts';

/** Deliveries of one page at most. */
export const windowLimit = 500;

/** Characters of a person's key at most: whatever is longer is nobody's. */
export const personKeyChars = 128;

/** Body of POST /internal/v1/deliveries:window. The window, [from, to), is over `submitted_at` and over when the state last changed: either is enough. */
export const windowRequest = z
  .object({
    /** Absent where events are named: every delivery of theirs. */
    destination: z.string().min(1).optional(),
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    form: z.string().optional(),
    campaign: z.string().optional(),
    /** State of the delivery. */
    outcome: z.string().optional(),
    /** The `next` of the page before. */
    after: z.string().max(600).optional(),
    limit: z.int().min(1).max(windowLimit).default(windowLimit),
    /** These alone, whenever they were submitted. */
    event_ids: z.array(z.uuid()).min(1).max(windowLimit).optional(),
    /** These alone, whenever they were submitted: of each of these persons the leads whose fields stand in their record at `destination`. */
    person_keys: z.array(z.string().min(1).max(personKeyChars)).min(1).max(windowLimit).optional(),
  })
  .refine((asked) => asked.destination !== undefined || asked.event_ids !== undefined, {
    params: { problem: 'names neither a destination nor events', fix: 'Name one of them' },
  });
export type WindowRequest = z.input<typeof windowRequest>;

export interface WindowOperation {
  operation_key: string;
  kind: string;
  state: OperationState;
  ref?: string;
  attempts: number;
  /** The log of attempts holds an answer, a lookup or a person's word that says what its state says. */
  with_evidence: boolean;
  /** The destination was asked and had it: a lookup or a repeated call found the record. */
  seen_there: boolean;
  /** When its state last changed; ISO 8601, as all times here. */
  recorded_at: string;
  generation: number;
}

export interface WindowItem {
  event_id: string;
  destination: string;
  lead_ref: string;
  organization: string;
  form?: string;
  campaign?: string;
  test: boolean;
  state: DeliveryState;
  submitted_at: string;
  accepted_at: string;
  /** When its state last changed, once it is final. */
  finished_at?: string;
  generation: number;
  person_key?: string;
  /** The person's record as we know it by now: another lead may have made it again. Absent where no operation brought one. */
  contact_ref?: string;
  /** Base64. */
  event: string;
  operations: WindowOperation[];
  /** Fields of the person's record that a later submission has written: not this lead's to answer for. */
  newer_fields: string[];
  /** When the last success of ours that wrote the person's record was recorded, of this lead or another; absent where nobody knows. */
  contact_written_at?: string;
  /** A lead of the person may be writing the record at this moment. */
  contact_held: boolean;
  /** The approved item that was applied last. */
  repair_item?: string;
}

export interface WindowAnswer {
  /** Oldest submission first. */
  items: WindowItem[];
  /** Present where there may be more. */
  next?: string;
}
