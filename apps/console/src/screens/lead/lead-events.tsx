import type { TimelineEvent } from '../../api/types.js';
import { Teach } from '../../parts/small.js';
import { When } from '../../parts/when.js';
import { duration, plain, type Tone, toneOf } from '../../parts/words.js';

const toneOfKind: Readonly<Record<string, Tone>> = {
  dead_letter: 'dead',
  refused: 'dead',
  replay: 'unsure',
  action: 'held',
  consent: 'held',
  reconciliation: 'late',
  announced: 'wait',
  accepted: 'ok',
};

export function LeadEvents({ events }: { events: readonly TimelineEvent[] }) {
  if (events.length === 0) {
    return (
      <Teach title="No events are kept any more">
        <p>The services keep the history of a lead as long as its retention says; its state above is what remains.</p>
      </Teach>
    );
  }
  return (
    <ol className="events">
      {events.map((event, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: history is only appended to, and two events may be equal
        <Event key={index} event={event} />
      ))}
    </ol>
  );
}

function Event({ event }: { event: TimelineEvent }) {
  const tone = event.outcome ? toneOf(event.outcome) : (toneOfKind[event.kind] ?? 'quiet');
  return (
    <li className={`tone-${tone}`} data-row>
      <div className="at">
        <When at={event.at} />
      </div>
      <div className="line" aria-hidden="true" />
      <div className="what">
        <div>
          {event.title}
          {event.destination && <span className="quiet"> · {event.destination}</span>}
        </div>
        {factsOf(event).map((line) => (
          <small key={line}>{line}</small>
        ))}
      </div>
    </li>
  );
}

/** What an engineer wants to know of it, in at most three lines. */
function factsOf(event: TimelineEvent): string[] {
  const answer = [
    event.number ? `attempt ${event.number}` : '',
    event.outcome ? plain(event.outcome) : '',
    event.status ? `status ${event.status}` : '',
    event.class ? plain(event.class) : '',
    event.code ? `code ${event.code}` : '',
    typeof event.duration_ms === 'number' ? `took ${duration(event.duration_ms)}` : '',
    event.ref ? `their id ${event.ref}` : '',
    event.by ? `by ${event.by}` : '',
  ];
  const ids = [
    event.operation_key ? `operation ${event.operation_key}` : '',
    event.attempt_id ? `attempt id ${event.attempt_id}` : '',
    event.provider_request_id ? `their request ${event.provider_request_id}` : '',
    event.trace_id ? `trace ${event.trace_id}` : '',
    event.topic ? `${event.topic} / ${event.partition ?? '?'} / ${event.offset ?? '?'}` : '',
  ];
  return [answer, ids, [event.detail]].map((parts) => parts.filter(Boolean).join(' · ')).filter(Boolean);
}
