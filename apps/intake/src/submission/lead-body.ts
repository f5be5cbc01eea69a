import { z } from 'zod';
import { maxChars, maxCustomFields } from './text.js';

const text = (max: number, description: string) => z.string().meta({ maxLength: max, description }).nullish();
const time = (description: string) => z.iso.datetime({ offset: true }).meta({ description }).nullish();

const contact = z
  .strictObject({
    name: text(maxChars.name, 'As the person wrote it.'),
    email: text(maxChars.email, 'Surrounding white space is removed and the domain becomes lower case; nothing else is changed.'),
    phone: text(maxChars.phone, "Becomes E.164; a national number is read in the source's configured country."),
  })
  .meta({ description: 'Who left the lead. Absent and null mean not asked; empty text means left empty.' });

const consent = z.strictObject({
  given: z.boolean().meta({ description: 'Destinations that need consent get the lead only when this is true.' }),
  at: time('When consent was given.'),
});

const custom = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
  .meta({
    maxProperties: maxCustomFields,
    description: 'Extra form fields, flat. An integer beyond 2^53 keeps every digit (it is carried as text).',
  })
  .nullish();

/** Body of POST /v1/leads: its types. Lengths, characters, e-mail, phone and times are checked where both doors meet (`normalise`). */
export const leadBody = z
  .strictObject({
    source_event_id: text(
      maxChars.sourceEventId,
      "The source's own id of this submission, made once and kept across double clicks and retries. The header Idempotency-Key may stand for it; both must be equal.",
    ),
    form: text(maxChars.form, 'Which form. Routing and events know it as a slug.'),
    campaign: text(maxChars.campaign, 'Which campaign. Routing and events know it as a slug.'),
    submitted_at: time('When the person submitted; deadlines run from here. Default: the time of receipt.'),
    contact,
    message: text(maxChars.message, 'Free text.'),
    consent,
    custom,
    supersedes: text(maxChars.sourceEventId, 'source_event_id of the submission that this one legitimately changes.'),
    test: z
      .boolean()
      .meta({ description: 'A test lead goes to sandbox destinations only and stays out of business metrics. Default false.' })
      .nullish(),
  })
  .meta({ title: 'Lead' });

export type LeadBody = z.infer<typeof leadBody>;
