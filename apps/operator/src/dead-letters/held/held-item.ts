import { z } from 'zod';
import { failurePolicies, LeadAcceptedEvent, LeadResolvedEvent } from '#contracts';
import type { WaitingItem } from '#delivery';
import type { Codec } from '#messaging';
import type { Told } from '../letter.js';
import type { LetterFilter } from '../letter-filter.js';
import { schemaIdOf } from '../schema-id.js';

const text = z.string().nullable();

/**
 * A delivery that waits for its destination, or of which nobody knows yet whether it was written. Nobody need decide on it: it goes on by itself,
 * or becomes a dead letter.
 */
export const heldItem = z.object({
  dead_letter_id: z.string().describe('Event id and destination: there is no dead letter of it.'),
  state: z.enum(['held', 'uncertain']),
  service: z.string(),
  event_id: z.string(),
  destination: z.string(),
  lead_ref: z.string(),
  organization: text,
  source: text,
  form: text,
  campaign: text,
  test: z.boolean(),
  class: z
    .string()
    .describe('Why nothing is sent: `hold` by a person, or the trouble of the destination; of what is uncertain `unverified_write`.'),
  code: text.describe('What the last call was answered.'),
  status: z.null(),
  schema_id: z.number().nullable(),
  attempts: z.number(),
  submitted_at: z.string(),
  deadline_at: z.string(),
  next_attempt_at: text,
  respond_by: z.string().describe('Its deadline.'),
  owner: z.string(),
  assignee: z.null(),
  disposition: z.literal('wait'),
  hold: z.object({ by: z.string(), reason: z.string(), at: z.string() }).nullable(),
  open_until: text.describe('No probe before then.'),
  age_ms: z.number(),
  note_count: z.literal(0),
  next_action: z.string(),
  runbook: z.string(),
});
export type HeldItem = z.infer<typeof heldItem>;

export const unavailableOwners = z.array(z.string()).describe('Services that do not answer: what only they know is left out.');

/** What is uncertain, before somebody has been told of it. */
export const untold = {
  class: 'unverified_write',
  owner: failurePolicies.unverified_write.owner,
  next_action:
    'Nothing yet: it is looked up at the destination by itself, and becomes a dead letter when that says nothing for half an hour. On the page of the lead it can be looked up now.',
  runbook: failurePolicies.unverified_write.runbook,
} as const;

export const runbook = 'docs/runbooks/destination-paused.md';
export const nextAction = 'Find out why nothing is sent to the destination; release it if a person holds it. It goes on by itself then.';

/** A person's hold is for operations to end, a destination's trouble for whoever looks after the connection. */
export const ownerOf = (reason: string): string => (reason === 'hold' ? 'operations' : 'integration');

/** Which open deliveries are meant. */
export type OpenKind = 'held' | 'uncertain';

/** Why nothing is sent; `held`: its service does not say, since that has just ended. */
const reasons: readonly string[] = ['hold', 'failing', 'throttled', 'auth', 'held'];

/**
 * Whether no open delivery can fit a filter, by the filter alone. Nobody is assigned to what goes on by itself, it has no disposition to choose, and
 * no group of dead letters holds it.
 */
export function fitsNone(kind: OpenKind, filter: LetterFilter): boolean {
  if (filter.assignee !== undefined || filter.disposition !== undefined || filter.group !== undefined) return true;
  const cases = kind === 'uncertain' ? [untold] : reasons.map((reason) => ({ class: reason, owner: ownerOf(reason) }));
  return !cases.some(
    (one) => (filter.class === undefined || filter.class === one.class) && (filter.owner === undefined || filter.owner === one.owner),
  );
}

export interface Waiting {
  kind: OpenKind;
  service: string;
  item: WaitingItem;
  /** What the record tells; undefined where it cannot be read. */
  told: Told | undefined;
}

export function toHeldItem({ kind, service, item, told }: Waiting, nowMs: number): HeldItem {
  const { event_id, destination, lead_ref, test, code, attempts, submitted_at, deadline_at } = item;
  const reason = item.reason ?? 'held';
  const about = kind === 'uncertain' ? untold : { class: reason, owner: ownerOf(reason), next_action: nextAction, runbook };
  return {
    dead_letter_id: `${event_id}/${destination}`,
    state: kind,
    service,
    event_id,
    destination,
    lead_ref,
    organization: told?.organization ?? null,
    source: told?.source ?? null,
    form: told?.form ?? null,
    campaign: told?.campaign ?? null,
    test,
    ...about,
    code: code ?? null,
    status: null,
    schema_id: schemaIdOf(Buffer.from(item.event, 'base64')) ?? null,
    attempts,
    submitted_at,
    deadline_at,
    next_attempt_at: item.next_attempt_at ?? null,
    respond_by: deadline_at,
    assignee: null,
    disposition: 'wait',
    hold: item.hold ?? null,
    open_until: item.open_until ?? null,
    age_ms: Math.max(0, nowMs - Date.parse(submitted_at)),
    note_count: 0,
  };
}

/** Who the lead is of, from the record of its delivery. */
export async function readWaiting(codec: Pick<Codec, 'decode'>, { kind, service, item }: Omit<Waiting, 'told'>): Promise<Waiting> {
  const event = service === 'notifier' ? LeadResolvedEvent : LeadAcceptedEvent;
  const told = await Promise.resolve()
    .then(() => codec.decode<Told>(event as never, Buffer.from(item.event, 'base64')))
    .catch(() => undefined);
  return { kind, service, item, told };
}
