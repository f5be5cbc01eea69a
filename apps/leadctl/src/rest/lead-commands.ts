import type { Line } from '../output.js';
import { awayLines, part, type RestCommand, readTyped, text } from './rest-command.js';

interface Found {
  items: {
    kind: string;
    event_id: string;
    organization: string;
    source: string;
    form: string | null;
    submitted_at: string | null;
    state: string;
  }[];
  unavailable?: string[];
}

export const search: RestCommand<Found> = {
  usage: 'search [text]',
  about: 'find leads by any id; without text it is read from standard input, as an e-mail address or phone number should be',
  options: [['--kind <kind>', 'auto, email or phone', 'auto']],
  call: async ([given], options) => ({
    method: 'POST',
    path: 'search',
    body: { text: given ?? (await readTyped()), kind: text(options, 'kind') },
  }),
  lines: ({ items, unavailable }) => [
    ...items.map(({ event_id, kind, organization, source, form, submitted_at, state }) => ({
      event_id,
      found_as: kind,
      organization,
      source,
      form: form ?? '',
      submitted_at: submitted_at ?? '',
      state,
    })),
    ...awayLines('event_id', unavailable),
  ],
  empty: 'no lead is known by this',
  found: ({ items }) => items.length === 0,
  // What is not found may be known where nobody answers.
  away: ({ items, unavailable = [] }) => items.length === 0 && unavailable.length > 0,
};

interface Timeline {
  event_id: string;
  summary: { what_happened: string; next: string; when?: string | null; who: string; seen_by_customer: string; seen_by_sales: string };
  deliveries: {
    service: string;
    destination: string;
    state: string;
    class?: string | null;
    code?: string | null;
    next_attempt_at?: string | null;
    why?: string;
  }[];
  events: TimelineEvent[];
  unavailable?: string[];
}

interface TimelineEvent {
  at: string;
  title: string;
  destination?: string | null;
  number?: number;
  outcome?: string | null;
  class?: string;
  code?: string;
  status?: number;
  provider_request_id?: string;
  duration_ms?: number;
  ref?: string;
  by?: string;
  detail?: string | null;
}

const final = new Set(['delivered', 'dead', 'expired', 'discarded', 'erased']);

export const leadCommands: readonly RestCommand<never>[] = [
  {
    usage: 'show <event-id>',
    about: 'where a lead is, what happens next, and how it came there',
    call: ([id]) => ({ method: 'GET', path: `leads/${part(id)}` }),
    lines: timelineLines,
    over: ({ deliveries }: Timeline) => deliveries.length > 0 && deliveries.every(({ state }) => final.has(state)),
  } satisfies RestCommand<Timeline>,
  {
    usage: 'reveal <event-id>',
    about: 'what the lead said, in the clear, for five minutes; stands in the audit',
    reason: true,
    call: ([id], options) => ({ method: 'POST', path: `leads/${part(id)}/reveal`, body: { reason: text(options, 'reason') } }),
    lines: ({ until, fields }: Revealed) => [
      ...Object.entries(fields).map(([field, value]) => ({ field, value: typeof value === 'string' ? value : JSON.stringify(value) })),
      { field: 'hide it again at', value: until },
    ],
  } satisfies RestCommand<Revealed>,
  {
    usage: 'consent-withdraw <event-id>',
    about: 'the person withdrew consent: nothing more of the lead goes to a destination that requires it',
    reason: true,
    options: [['--at <time>', 'when they withdrew it; default: now']],
    call: ([id], options) => ({
      method: 'POST',
      path: `leads/${part(id)}/consent`,
      body: { given: false, at: text(options, 'at'), reason: text(options, 'reason') },
    }),
    lines: ({ event_id, result }: Withdrawn) => [{ event_id, result }],
  } satisfies RestCommand<Withdrawn>,
];

interface Withdrawn {
  event_id: string;
  result: 'withdrawn' | 'gone';
}

interface Revealed {
  until: string;
  fields: Record<string, unknown>;
}

/** Where, which call, what was answered, by which request of theirs, and how long it took. */
function factsOf(event: TimelineEvent): string {
  const {
    destination,
    number,
    outcome,
    class: failure,
    code,
    status,
    provider_request_id: request,
    duration_ms: ms,
    ref,
    by,
    detail,
  } = event;
  const facts = [
    destination,
    number && `#${number}`,
    outcome,
    failure === outcome ? undefined : failure,
    code,
    status && `status ${status}`,
    request && `request ${request}`,
    ms === undefined ? undefined : `${ms} ms`,
    ref && `their id ${ref}`,
    by && `by ${by}`,
    detail,
  ];
  return facts.filter(Boolean).join(' ');
}

function timelineLines({ summary, deliveries, events, unavailable }: Timeline): Line[] {
  const line = (when: string, what: string, detail: string): Line => ({ when, what, detail });
  return [
    line('', 'what happened', summary.what_happened),
    line(summary.when ?? '', 'next', `${summary.next} (${summary.who})`),
    line('', 'the customer saw', summary.seen_by_customer),
    line('', 'sales saw', summary.seen_by_sales),
    ...deliveries.map(({ service, destination, state, class: failure, code, next_attempt_at, why }) => {
      const stands = [state, failure, code].filter(Boolean).join(' ');
      return line(next_attempt_at ?? '', `${service} ${destination}`, why === undefined ? stands : `${stands}: ${why}`);
    }),
    ...awayLines('what', unavailable).map(({ what = '' }) =>
      line('', String(what), 'what only it knows is missing, or what was heard last'),
    ),
    ...events.map((event) => line(event.at, event.title, factsOf(event))),
  ];
}
