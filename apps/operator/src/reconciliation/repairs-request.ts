import { z } from 'zod';
import { discrepancyClasses } from '#delivery';
import { draftRequest } from '../batches/filter.js';

const name = z.string().min(1).max(512);
const filter = z
  .strictObject({
    class: z.enum(discrepancyClasses).optional(),
    destination: name.optional(),
    owner: name.optional(),
    run_id: z.uuid().optional(),
    event_id: z.uuid().optional(),
  })
  .refine((select) => Object.values(select).some((value) => value !== undefined), {
    params: { problem: 'selects everything', fix: 'Name a class, a destination, an owner, a run or a lead' },
  });

const { max, new_deadline, rate_per_s, concurrency, max_duration, canary, reason } = draftRequest.shape;

/** Which discrepancies are to be repaired, and the limits of the batch that does it. */
export const repairsBody = z
  .strictObject({
    ids: z.array(z.uuid()).min(1).max(1_000).optional(),
    filter: filter.optional(),
    ...{ max, new_deadline, rate_per_s, concurrency, max_duration, canary, reason },
  })
  .refine(({ ids, filter: select }) => (ids === undefined) !== (select === undefined), {
    path: ['filter'],
    params: { problem: 'must be there once', fix: 'Name discrepancies by `ids`, or say in `filter` which are meant' },
  });
export type RepairsRequest = z.infer<typeof repairsBody>;

/** Why discrepancies are not in the batch. */
export const leftOut = z.object({
  no_repair: z.number().describe('A person decides about them at the destination.'),
  settled: z.number().describe('They are repaired, accepted or gone, or a batch repairs them.'),
  unknown: z.number().describe('There are none of these ids that you may see.'),
  no_letter: z.number().describe('Nobody was told, and no dead letter of it can be sent again: tell its owner, then accept it.'),
  over_max: z.number().describe('Beyond `max`.'),
});
export const repairsAnswer = z.object({
  batch_id: z.uuid(),
  state: z.literal('draft'),
  hash: z.string(),
  items: z.number().describe('Deliveries.'),
  discrepancies: z.number(),
  left_out: leftOut,
});
export type RepairsAnswer = z.infer<typeof repairsAnswer>;
