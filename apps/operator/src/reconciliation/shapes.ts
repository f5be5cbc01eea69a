import { z } from 'zod';
import { type Discrepancy, type DiscrepancyClass, discrepancyAspects, discrepancyClasses, discrepancyStates, runStates } from '#delivery';

const time = z.string().describe('ISO 8601 in UTC.');
const text = z.string();
const count = z.number().int();

/** The page that says what to do, by class. */
export const runbookOf = (kind: DiscrepancyClass): string => `docs/runbooks/discrepancy-${kind.replaceAll('_', '-')}.md`;

/** One thing that differs, as the API shows it. */
export const discrepancyItem = z.object({
  discrepancy_id: z.uuid(),
  destination: text,
  organization: text.optional(),
  event_id: text.optional(),
  lead_ref: text.optional(),
  kind: text.optional().describe('Of the record.'),
  operation_key: text.optional(),
  ref: text.optional().describe("The destination's id of the record."),
  class: z.enum(discrepancyClasses),
  aspect: z.enum(discrepancyAspects).optional(),
  fields: z.array(text).describe('Names of what differs, never a value.'),
  evidence: z
    .record(text, z.union([text, z.number(), z.boolean(), z.array(text)]))
    .describe('References, states and times; no personal values.'),
  urgency: z.enum(['high', 'normal', 'low']),
  owner: text,
  next_step: text,
  repair: z
    .enum(['create', 'update', 'tell'])
    .optional()
    .describe('What an approved item can do about it; absent: a person decides at the destination.'),
  state: z.enum(discrepancyStates),
  first_run_id: text,
  last_run_id: text,
  first_seen_at: time,
  last_seen_at: time,
  by: text.optional(),
  approver: text.optional(),
  item_id: text.optional(),
  result: text.optional(),
  reason: text.optional(),
  batch_id: z.uuid().optional().describe('The last batch that was made to repair it.'),
  runbook: text.describe('The page that says what to do.'),
});
export type DiscrepancyItem = z.infer<typeof discrepancyItem>;

export const withRunbook = (found: Discrepancy): DiscrepancyItem => ({ ...found, runbook: runbookOf(found.class) });

export const runItem = z.object({
  run_id: z.uuid(),
  destination: text,
  from: time,
  to: time,
  filter: z.object({ form: text.optional(), campaign: text.optional(), outcome: text.optional() }),
  state: z.enum(runStates),
  by: text.describe('Who asked for it; `schedule`: nobody.'),
  reason: text.optional().describe('Why it failed, was stopped, or waits at the moment.'),
  counts: z
    .record(text, count)
    .nullable()
    .describe('`compared`, `unconfirmed` and one per class; null for somebody who may not see all leads that go there.'),
  calls: count.describe('Of the destination.'),
  created_at: time,
  started_at: time.optional(),
  finished_at: time.optional(),
  resumed: count.describe('How often another process took it on.'),
});
export type RunItem = z.infer<typeof runItem>;

const day = text.describe('UTC, of acceptance.');
export const balanceItem = z.object({
  day,
  organization: text,
  source: text,
  destination: text,
  accepted: count,
  found: z.record(text, count).describe('Leads by the state in which they were found.'),
  missing: count,
  incomplete: count,
  balanced: z.boolean(),
  closed: z.boolean().describe('Every delivery of the day is final: it is not counted again.'),
  taken_at: time,
});

export const receivedItem = z.object({
  day,
  organization: text,
  source: text,
  received: count,
  accepted: count,
  repeats: count,
  conflicts: count,
  rejected: count,
  balanced: z.boolean(),
  taken_at: time,
});

/** Whose names are on what is answered to a person. */
export const page = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next: z.string().optional().describe('Absent on the last page.') });
