import { z } from 'zod';
import type { DeliveryState } from '#contracts';
import { commandReason as reason } from './reason-text.js';

/** Subject of a person, as long as an identity provider may make it. */
const by = z.string().min(1).max(200);

/** Names of a delivery and of an operation, as the product makes them: they stand in the audit before anybody has looked them up. */
const name = /^[\w.:~/-]+$/;
export const deliveryName = z.string().max(512).regex(name);
export const operationName = z.string().max(640).regex(name);
const delivery = { event_id: z.uuid().transform((id) => id.toLowerCase()), destination: deliveryName };

/** Of a record, as its system gives it: an id, which is never an e-mail address or written like a phone number. */
const recordRef = z
  .string()
  .max(200)
  .regex(/^[^\s@+][^\s@]*$/)
  .describe('The destination’s own id of the record.');

/** What a person found out about an operation: the destination's reference, or that it is not there. */
export const finding = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('found'), ref: recordRef }),
  z.strictObject({ kind: z.literal('absent') }),
]);

export const holdSeen = z.iso
  .datetime()
  .nullable()
  .optional()
  .describe('When the hold began that you have seen, null where you saw none; refused where it is another by now. Absent: not looked at.');

export const commandRequest = z.discriminatedUnion('command', [
  z.object({ command: z.literal('hold'), destination: delivery.destination, by, reason, since: holdSeen }),
  z.object({ command: z.literal('release'), destination: delivery.destination, by, reason: reason.optional(), since: holdSeen }),
  z.object({
    command: z.literal('discard'),
    ...delivery,
    by,
    reason,
    /** Where the proof is kept; needed where something may have happened at the destination. A reference, never free text of a lead. */
    evidence: reason.optional(),
  }),
  /** Asks the destination about an uncertain operation now, not at the time that it is due. */
  z.object({ command: z.literal('lookup'), ...delivery, operation_key: operationName, by }),
  z.object({ command: z.literal('evidence'), ...delivery, operation_key: operationName, finding, by, reason }),
]);
export type CommandRequest = z.infer<typeof commandRequest>;

export interface CommandAnswer {
  applied: boolean;
  /** Why not. */
  reason?: 'unknown_destination' | 'unknown_delivery' | 'not_in_this_state' | 'no_lookup' | 'too_early' | 'changed_meanwhile';
  /** With `too_early`: from when on it counts that nothing was found (ISO 8601, the database's clock), and until then, in milliseconds. */
  absence_counts_from?: string;
  wait_ms?: number;
  /** Of the delivery afterwards. */
  state?: DeliveryState;
}
