import type { Sample } from './people.js';

/** The parts of intake's answer that are printed. */
export interface Journey {
  event_id: string;
  lead_ref: string;
  accepted_at: string;
  deliveries: Delivery[];
}

interface Delivery {
  destination: string;
  state: string;
  as_of: string;
  operations: { kind: string; state: string; ref?: string }[];
}

/** What is known of one lead at one moment; all times are ISO. */
export interface Seen {
  sample: Pick<Sample, 'name' | 'door' | 'consent'>;
  /** Undefined until intake has accepted it. */
  journey?: Journey;
  /** Records of the sandbox CRM that carry its id. */
  records: { id: string; received_at: string }[];
  /** Messages of the sandbox chat that name it. */
  messages: { message_id: number; received_at: string }[];
}

export interface Step {
  /** ISO time. */
  at: string;
  what: string;
}

/** States on the way, gone the next moment; the line of what came of them follows. */
const passing = new Set(['accepted', 'pending', 'in_flight']);

/** All steps of the leads so far, in the order of time. */
export function stepsOf(all: readonly Seen[]): Step[] {
  const steps = all.flatMap((seen) => [...ownSteps(seen), ...withoutConsent(seen, all)].map((step) => named(step, seen)));
  return steps.sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

const named = ({ at, what }: Step, { sample: { name, door } }: Seen): Step => ({ at, what: `${name} (${door}): ${what}` });

/** True once the lead is delivered everywhere and its message is in the chat. */
export function hasArrived({ journey, records, messages }: Seen): boolean {
  if (journey === undefined || records.length === 0 || messages.length === 0) return false;
  return journey.deliveries.every(({ state }) => state === 'delivered');
}

/**
 * `as_of` is when the owner was asked, some time after the state was reached. The message is sent on the outcome in the CRM whose records are
 * seen, so that this one was delivered before it.
 */
function reachedAt({ as_of, operations }: Delivery, { records, messages }: Seen): string {
  const [first] = messages;
  const isToldOf = operations.some(({ ref }) => records.some(({ id }) => id === ref));
  return isToldOf && first !== undefined && Date.parse(first.received_at) < Date.parse(as_of) ? first.received_at : as_of;
}

function ownSteps(seen: Seen): Step[] {
  const { journey, records, messages } = seen;
  if (journey === undefined) return [];
  const deliveries = journey.deliveries.filter(({ state }) => !passing.has(state));
  return [
    { at: journey.accepted_at, what: `accepted as ${journey.lead_ref}, event ${journey.event_id}` },
    ...records.map(({ id, received_at }) => ({ at: received_at, what: `seen in the CRM as record ${id}` })),
    ...deliveries.map((delivery) => {
      const { destination, state, operations } = delivery;
      const done = operations.filter((one) => one.state === 'succeeded').map(({ kind, ref }) => `${kind} ${ref ?? ''}`.trim());
      return { at: reachedAt(delivery, seen), what: `${destination}: ${state}${done.length > 0 ? ` (${done.join(', ')})` : ''}` };
    }),
    ...messages.map(({ message_id, received_at }) => ({ at: received_at, what: `seen in the chat as message ${message_id}` })),
  ];
}

/** Why a lead goes to fewer destinations than those of people who consented; known once all leads are accepted. */
function withoutConsent({ sample, journey }: Seen, all: readonly Seen[]): Step[] {
  const journeys = all.flatMap((one) => (one.journey === undefined ? [] : [one.journey]));
  if (sample.consent || journey === undefined || journeys.length < all.length) return [];
  const own = new Set(journey.deliveries.map(({ destination }) => destination));
  const others = new Set(journeys.flatMap(({ deliveries }) => deliveries.map(({ destination }) => destination)));
  const at = journeys.map(({ accepted_at }) => accepted_at).reduce((one, other) => (Date.parse(one) > Date.parse(other) ? one : other));
  return [...others].filter((name) => !own.has(name)).map((name) => ({ at, what: `no delivery to ${name}: no consent` }));
}

/** Hands steps out in the order of time, each once: a step is held for a moment, in which an earlier one may still be learned of. */
export class Timeline {
  private readonly told = new Set<string>();

  constructor(private readonly heldMs = 500) {}

  /** Those of `steps` that are due at `nowMs`. */
  due(steps: readonly Step[], nowMs: number): Step[] {
    return this.rest(steps.filter(({ at }) => Date.parse(at) <= nowMs - this.heldMs));
  }

  /** All that were not handed out yet. */
  rest(steps: readonly Step[]): Step[] {
    const fresh = steps.filter(({ what }) => !this.told.has(what));
    for (const { what } of fresh) this.told.add(what);
    return fresh;
  }
}
