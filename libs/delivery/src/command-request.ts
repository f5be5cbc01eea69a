import { z } from 'zod';
import type { DeliveryState } from '#contracts';
import { reasonText } from './reason-text.js';

const by = z.string().min(1).max(64);
/** Of a hold it is shown beside the destination: shorter than other reasons. */
const reason = reasonText.min(1).max(200);
const delivery = { event_id: z.uuid().transform((id) => id.toLowerCase()), destination: z.string().min(1).max(512) };

/** What a person found out about an operation: the destination's reference, or that it is not there. */
const finding = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('found'), ref: z.string().min(1).max(200) }),
  z.object({ kind: z.literal('absent') }),
]);

export const commandRequest = z.discriminatedUnion('command', [
  z.object({ command: z.literal('hold'), destination: delivery.destination, by, reason }),
  z.object({ command: z.literal('release'), destination: delivery.destination, by, reason: reason.optional() }),
  z.object({
    command: z.literal('discard'),
    ...delivery,
    by,
    reason,
    /** Where the proof is kept; needed where something may have happened at the destination. A reference, never free text of a lead. */
    evidence: reasonText.min(1).max(200).optional(),
  }),
  /** Asks the destination about an uncertain operation now, not at the time that it is due. */
  z.object({ command: z.literal('lookup'), ...delivery, operation_key: z.string().min(1).max(640), by }),
  z.object({ command: z.literal('evidence'), ...delivery, operation_key: z.string().min(1).max(640), finding, by, reason }),
]);
export type CommandRequest = z.infer<typeof commandRequest>;

export interface CommandAnswer {
  applied: boolean;
  /** Why not. */
  reason?: 'unknown_destination' | 'unknown_delivery' | 'not_in_this_state' | 'no_lookup';
  /** Of the delivery afterwards. */
  state?: DeliveryState;
}
