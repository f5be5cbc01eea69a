import { z } from 'zod';

const time = z.string().describe('ISO 8601 in UTC.');
const text = z.string();

const operation = z.object({ operation_key: text, kind: text, state: text, ref: text.optional(), attempts: z.number().int() });

const delivery = z.object({
  service: text,
  destination: text,
  state: text,
  class: text.optional(),
  code: text.optional(),
  as_of: time.optional().describe('Only where its owner did not answer: this is what was heard last, then.'),
  deadline_at: time.optional(),
  original_deadline_at: time.optional().describe('Before an approved replay set another.'),
  generation: z.number().int(),
  next_attempt_at: time.optional(),
  why: text.optional().describe('Why it happens then, or does not.'),
  operations: z.array(operation),
});
export type TimelineDelivery = z.infer<typeof delivery>;

const event = z.object({
  at: time,
  kind: z
    .enum([
      'submitted',
      'accepted',
      'announced',
      'refused',
      'received',
      'attempt',
      'lookup',
      'evidence',
      'ended',
      'dead_letter',
      'replay',
      'reconciliation',
      'action',
      'consent',
    ])
    .describe('action: what a person did; reconciliation: what was found to differ at a destination, and what repaired it.'),
  title: text,
  service: text,
  destination: text.optional(),
  operation_key: text.optional(),
  attempt_id: text.optional(),
  number: z.number().int().optional(),
  outcome: text.optional(),
  class: text.optional(),
  code: text.optional(),
  status: z.number().int().optional(),
  provider_request_id: text.optional(),
  duration_ms: z.number().int().optional(),
  ref: text.optional(),
  trace_id: text.optional(),
  topic: text.optional(),
  partition: z.number().int().optional(),
  offset: text.optional(),
  by: text.optional().describe('Subject of the person.'),
  detail: text.optional(),
});
export type TimelineEvent = z.infer<typeof event>;

const notification = z.object({ channel: text, template: text, state: text, next_attempt_at: time.optional(), as_of: time.optional() });

const letter = z.object({
  dead_letter_id: text,
  state: text,
  closed_as: text.nullable(),
  closed_at: time.optional(),
  service: text,
  destination: text.nullable(),
  class: text,
  code: text.nullable(),
  dead_at: time,
  owner: text,
  disposition: text,
  respond_by: time,
  delete_after: time,
  runbook: text.optional(),
});

const replay = z.object({
  batch_id: text,
  item_id: text,
  destination: text,
  state: text,
  batch_state: text,
  repairs: z.boolean().describe('It repairs what differs at the destination.'),
  author: text.nullable(),
  approver: text.nullable(),
  reason: text.nullable(),
  approved_at: time.optional(),
  deadline_at: time.optional(),
  closed_at: time.optional(),
});

const maskedText = text.nullable().describe('Null: the lead has none.');

/** Answer of GET /v1/leads/{event_id}. */
export const timeline = z.object({
  event_id: text,
  lead_ref: text.nullable(),
  organization: text,
  source: text.nullable(),
  form: text.nullable(),
  campaign: text.nullable(),
  submitted_at: time.nullable(),
  accepted_at: time.nullable(),
  deadline_at: time.nullable(),
  owner: text.nullable().describe('Name of who looks after the lead.'),
  test: z.boolean(),
  trace_id: text.nullable(),
  masked: z
    .object({ name: maskedText, email: maskedText, phone: maskedText })
    .nullable()
    .describe('Null: nothing is kept, or it cannot be read now.'),
  vault: z
    .object({
      state: z.enum(['kept', 'gone']),
      revision: z.number().int(),
      consent_withdrawn_at: time.nullable(),
      delete_after: time.nullable(),
    })
    .nullable(),
  supersedes: text.nullable(),
  superseded_by: z.array(text),
  summary: z.object({
    what_happened: text,
    next: text,
    when: time.optional(),
    who: text,
    seen_by_customer: text,
    seen_by_sales: text,
  }),
  deliveries: z.array(delivery),
  events: z.array(event).describe('Oldest first.'),
  dead_letters: z.array(letter),
  notifications: z.array(notification),
  replays: z.array(replay),
  unavailable: z.array(text).describe('Services that did not answer: what only they know is left out, or the last that was heard.'),
});
export type Timeline = z.infer<typeof timeline>;
