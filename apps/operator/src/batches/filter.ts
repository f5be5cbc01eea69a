import { z } from 'zod';
import { longestDeadlineMs } from '#contracts';
import { reasonText } from '#delivery';
import { duration, instant } from '#runtime';

const shortText = z.string().min(1).max(512);

/** Which open dead letters a batch is about; everything that is named must be equal, times are half-open windows. */
export const filterSchema = z
  .strictObject({
    destination: shortText.optional(),
    class: z.string().min(1).max(64).optional(),
    code: shortText.optional(),
    /** Only what has no provider code. */
    no_code: z.literal(true).optional(),
    /** Of the schema the record was written with; the registry's id. */
    schema_id: z.number().int().min(0).max(2_147_483_647).optional(),
    no_schema_id: z.literal(true).optional(),
    organization: shortText.optional(),
    source: shortText.optional(),
    form: shortText.optional(),
    submitted_from: instant.optional(),
    submitted_to: instant.optional(),
    dead_from: instant.optional(),
    dead_to: instant.optional(),
    event_ids: z.array(z.uuid()).min(1).max(1_000).optional(),
  })
  .refine((select) => Object.values(select).some((value) => value !== undefined), {
    params: { problem: 'selects everything', fix: 'Name a destination, a class, a time or event ids' },
  });
export type Filter = z.infer<typeof filterSchema>;

const largestBatch = 100_000;
const hourMs = 3_600_000;

/** From the approval on. */
export const deadline = duration.refine((ms) => ms >= 1_000 && ms <= longestDeadlineMs, {
  params: { problem: 'is no useful deadline', fix: `Write 1s to ${longestDeadlineMs / hourMs}h` },
});

const caps = {
  max: z.number().int().min(1).max(largestBatch),
  /** From the approval on; the old deadline is kept beside it. */
  new_deadline: deadline,
  rate_per_s: z.number().int().min(1).max(1_000),
  /** Items under way at once. */
  concurrency: z.number().int().min(1).max(5_000),
  /** From the first item on; whatever has not begun then is not begun any more. */
  max_duration: duration.refine((ms) => ms >= 1_000 && ms <= 24 * hourMs, {
    params: { problem: 'is no useful duration', fix: 'Write 1s to 24h' },
  }),
  /** Items of the canary; default 1 %, at least 10, at most 50. */
  canary: z.number().int().min(10).max(50),
};

const oneOf = { message: 'Name either' };

/** A new batch. `select` and `filter` are the same. */
export const draftRequest = z
  .strictObject({
    select: filterSchema.optional(),
    filter: filterSchema.optional(),
    max: caps.max.default(10_000),
    new_deadline: caps.new_deadline.default(4 * hourMs),
    rate_per_s: caps.rate_per_s.default(20),
    concurrency: caps.concurrency.default(50),
    max_duration: caps.max_duration.optional(),
    canary: caps.canary.optional(),
    reason: reasonText.min(1),
    destination: shortText.optional(),
  })
  .refine(({ select, filter }) => (select === undefined) !== (filter === undefined), {
    ...oneOf,
    path: ['filter'],
    params: { problem: 'must be there once', fix: 'Say in `filter` which dead letters are meant' },
  });
export type DraftRequest = z.infer<typeof draftRequest>;

export const editRequest = z
  .strictObject({
    new_deadline: caps.new_deadline.optional(),
    rate_per_s: caps.rate_per_s.optional(),
    concurrency: caps.concurrency.optional(),
    max_duration: caps.max_duration.optional(),
    canary: caps.canary.optional(),
    reason: reasonText.min(1).optional(),
    /** Leads whose items are taken out. */
    exclude_event_ids: z.array(z.uuid()).min(1).max(1_000).optional(),
  })
  .refine((edit) => Object.values(edit).some((value) => value !== undefined), {
    params: { problem: 'changes nothing', fix: 'Name what is to be changed' },
  });
export type EditRequest = z.infer<typeof editRequest>;
