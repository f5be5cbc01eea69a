import { z } from 'zod';

const text = (description: string) => z.string().meta({ description });
const time = (description: string) => z.iso.datetime().meta({ description });

const operation = z.object({
  kind: text('contact, lead, …'),
  state: text('pending, in_flight, waiting, held, uncertain, succeeded, dead, expired, discarded or erased'),
  ref: text("The destination's own id of what was written.").optional(),
});

const delivery = z.object({
  destination: z.string(),
  state: text('As the worst of its operations; accepted before its owner has seen it, delivered when all succeeded.'),
  class: text('Why it ended without effect.').optional(),
  code: z.string().optional(),
  as_of: time('When this was the state, by the clock of the service that said so.'),
  operations: z.array(operation),
});

const notification = z.object({
  channel: z.string(),
  template: z.string(),
  state: text('succeeded, or uncertain where it may have been sent and is therefore not sent again; else as an operation.'),
  as_of: time('Only where the notifier did not answer: when it last said something new about this lead.').optional(),
});

const refusal = z.object({
  class: text('decode, invalid, conflict or unknown_source'),
  code: z.string(),
  rejected_at: z.iso.datetime(),
  errors: z.array(z.object({ field: z.string(), problem: z.string(), fix: z.string() })),
});

/** Answer of GET /v1/leads/{event_id} and GET /v1/leads?source_event_id=. */
export const journey = z
  .object({
    event_id: text('Of the lead; of the refusal where nothing was accepted.'),
    lead_ref: z.string().nullable(),
    status: z.enum(['accepted', 'rejected']),
    submitted_at: time('When the person submitted.').nullable(),
    accepted_at: z.iso.datetime().nullable(),
    deliveries: z.array(delivery),
    notifications: z.array(notification),
    refusals: z.array(refusal).meta({ description: 'Records of the topic leads that were refused under the same submission id.' }),
    unreachable: z
      .array(z.string())
      .meta({ description: 'Services that did not answer in time; what they own is the last known, or left out.' }),
  })
  .meta({ title: 'Journey' });

export type Journey = z.infer<typeof journey>;
export type JourneyDelivery = z.infer<typeof delivery>;
export type JourneyNotification = z.infer<typeof notification>;
export type JourneyRefusal = z.infer<typeof refusal>;
export type KnownOperation = z.infer<typeof operation>;
