import { type CourseDelivery, type LeadCourse, parseNotificationName } from '#contracts';
import type { AttemptItem, HistoryItem } from '#delivery';
import type { LeadRecords } from './lead-records.js';
import type { AuditRecord, LetterRecord, ReplayRecord } from './own-records.js';
import { foundEvent } from './timeline-discrepancies.js';
import type { TimelineEvent } from './timeline-shape.js';

/** Everything that happened to a lead, oldest first. Pure. */
export function eventsOf({
  course,
  histories,
  discrepancies,
  own,
}: Pick<LeadRecords, 'course' | 'histories' | 'discrepancies' | 'own'>): TimelineEvent[] {
  const deliveries = [...histories].flatMap(([service, items]) => items.map((item) => ({ service, item })));
  const events = [
    ...(course === undefined ? [] : intakeEvents(course)),
    ...deliveries.flatMap(({ service, item }) => deliveryEvents(service, item)),
    ...keptAttempts(
      own.letters,
      deliveries.flatMap(({ item }) => item.attempts),
    ),
    ...own.letters.flatMap(letterEvents),
    ...discrepancies.map(foundEvent),
    ...own.replays.flatMap(replayEvents),
    ...own.audited.map(auditEvent),
  ];
  // Sorting is stable: what has one time stays in the order in which it must have happened.
  return events.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function intakeEvents(course: LeadCourse): TimelineEvent[] {
  const { submitted_at, accepted_at, vault, trace_id } = course;
  const service = 'intake';
  const events: TimelineEvent[] = [];
  if (submitted_at !== null) events.push({ at: submitted_at, kind: 'submitted', title: 'Submitted by the person', service });
  if (accepted_at !== null) {
    const trace = trace_id === null ? {} : { trace_id };
    events.push({ at: accepted_at, kind: 'accepted', title: 'Accepted and saved', service, ...trace, detail: course.policy ?? undefined });
  }
  if (accepted_at !== null) events.push(...announcements(course, accepted_at));
  for (const refusal of course.refusals) {
    const { rejected_at: at, class: failure, code, topic, partition, offset } = refusal;
    const detail = refusal.errors.map(({ field, problem }) => `${field} ${problem}`).join('; ') || undefined;
    events.push({
      at,
      kind: 'refused',
      title: 'A record under the same id was refused',
      service,
      class: failure,
      code,
      topic,
      partition,
      offset,
      detail,
    });
  }
  if (vault.consent_withdrawn_at !== null) {
    events.push({ at: vault.consent_withdrawn_at, kind: 'consent', title: 'Consent withdrawn', service });
  }
  return events;
}

const announcedAs = {
  in_outbox: 'Waits in the outbox to be announced',
  parked: 'Could not be announced: the broker refuses the record',
  announced: 'Announced on lead.accepted',
} as const;

function announcements({ announcement, deliveries }: LeadCourse, acceptedAt: string): TimelineEvent[] {
  const first: TimelineEvent = {
    at: acceptedAt,
    kind: 'announced',
    title: announcedAs[announcement ?? 'announced'],
    service: 'intake',
    topic: 'lead.accepted',
  };
  const again = deliveries.filter(({ announcements: count }) => count > 1).map(announcedAgain);
  return [first, ...again];
}

function announcedAgain({ destination, announced_at: at, announcements: count }: CourseDelivery): TimelineEvent {
  return {
    at,
    kind: 'announced',
    title: `Announced again for ${destination}`,
    service: 'intake',
    destination,
    number: count,
    topic: 'lead.accepted',
  };
}

function deliveryEvents(service: string, item: HistoryItem): TimelineEvent[] {
  const { destination, origin, claimed_at, attempts } = item;
  const shown = nameOf(destination);
  const events = attempts.map((attempt) => attemptEvent({ service, destination }, attempt));
  if (claimed_at !== undefined)
    events.unshift({ at: claimed_at, kind: 'received', title: `Taken up for ${shown}`, service, destination, ...origin });
  const ended = endOf(service, item);
  return ended === undefined ? events : [...events, ended];
}

/** How a delivery is called in words: a notification by its channel. */
function nameOf(destination: string): string {
  const notification = parseNotificationName(destination);
  return notification === undefined ? destination : `a message by ${notification.channel}`;
}

const endings: Partial<Record<HistoryItem['state'], string>> = {
  delivered: 'Delivered to',
  dead: 'Given up for',
  expired: 'Time was over for',
  discarded: 'Will not go to',
  erased: 'Data erased before it reached',
};

function endOf(service: string, { destination, state, class: failure, code, updated_at: at }: HistoryItem): TimelineEvent | undefined {
  const ending = endings[state];
  if (ending === undefined || at === undefined) return undefined;
  return { at, kind: 'ended', title: `${ending} ${nameOf(destination)}`, service, destination, outcome: state, class: failure, code };
}

interface Of {
  service: string;
  destination?: string;
}

/** `…:crm:contact` and `…:crm:contact~g2` are both of the kind `contact`. */
const kindOf = (key: string): string => key.slice(key.lastIndexOf(':') + 1).replace(/~[gm]\d+$/, '');

function attemptEvent({ service, destination }: Of, attempt: AttemptItem): TimelineEvent {
  const { started_at: at, outcome, late, ...rest } = attempt;
  const { operation_key, attempt_id, number, class: failure, code, status, provider_request_id, duration_ms, ref, trace_id } = rest;
  const kind = outcome.startsWith('lookup_')
    ? 'lookup'
    : outcome.startsWith('evidence_') || outcome === 'discarded'
      ? 'evidence'
      : 'attempt';
  return {
    at,
    kind,
    title: attemptTitle(kind, attempt),
    service,
    destination,
    operation_key,
    attempt_id,
    number,
    outcome,
    class: failure,
    code,
    status,
    provider_request_id,
    duration_ms,
    ref,
    trace_id,
    ...(late && { detail: 'The answer came after this call had been given up.' }),
  };
}

const outcomes: Readonly<Record<string, string>> = {
  succeeded: 'it has it',
  duplicate: 'it had it already',
  throttled: 'it asked us to slow down',
  transient: 'it failed for now',
  uncertain: 'no answer, so it may have it',
  permanent: 'it refused',
  auth: 'it does not accept our login',
  lease_expired: 'this process stopped in the middle',
  lease_lost: 'left to another process',
  lookup_found: 'it has it',
  lookup_absent: 'it does not have it',
  lookup_several: 'it has it more than once',
  lookup_unknown: 'it could not say',
  evidence_found: 'found there by a person',
  evidence_absent: 'not found there by a person',
  discarded: 'discarded by a person',
};

function attemptTitle(kind: 'attempt' | 'lookup' | 'evidence', { operation_key, number, outcome }: AttemptItem): string {
  const asked = { attempt: `Call ${number}`, lookup: 'Lookup', evidence: 'Evidence' }[kind];
  return `${asked} for ${kindOf(operation_key)}: ${outcomes[outcome] ?? outcome.replaceAll('_', ' ')}`;
}

/** Calls that a dead letter kept, where their owner keeps them no more or does not answer. */
function keptAttempts(letters: readonly LetterRecord[], known: readonly AttemptItem[]): TimelineEvent[] {
  const nameOfCall = ({ operation_key, attempt_id, outcome }: AttemptItem): string => `${operation_key} ${attempt_id} ${outcome}`;
  const seen = new Set(known.map(nameOfCall));
  return letters.flatMap(({ service, destination, history }) =>
    history
      .filter((attempt) => !seen.has(nameOfCall(attempt)) && seen.add(nameOfCall(attempt)))
      .map((attempt) => attemptEvent({ service, destination: destination ?? undefined }, attempt)),
  );
}

function letterEvents(letter: LetterRecord): TimelineEvent[] {
  const { service, operation_key, class: failure, code, dead_at, closed_at, closed_as } = letter;
  const destination = letter.destination ?? undefined;
  const about = { service: 'operator', destination, operation_key: operation_key ?? undefined, class: failure, code: code ?? undefined };
  const at = { topic: letter.topic ?? undefined, partition: letter.partition ?? undefined, offset: letter.record_offset ?? undefined };
  const title = `Dead letter of ${service}: a person must decide`;
  const events: TimelineEvent[] = [{ ...about, ...at, at: dead_at.toISOString(), kind: 'dead_letter', title }];
  if (closed_at !== null) {
    const closed = `Dead letter closed: ${closed_as ?? 'closed'}`;
    events.push({ ...about, at: closed_at.toISOString(), kind: 'dead_letter', title: closed, outcome: closed_as ?? undefined });
  }
  return events;
}

function replayEvents({ batch_id, destination, approver, approved_at, state, closed_at, reason, repairs }: ReplayRecord): TimelineEvent[] {
  const kind = repairs ? ('reconciliation' as const) : ('replay' as const);
  const word = repairs ? 'Repair' : 'Replay';
  const about = { kind, service: 'operator', destination, detail: `batch ${batch_id}` };
  const events: TimelineEvent[] = [];
  if (approved_at !== null) {
    const detail = reason === null ? about.detail : `${about.detail}: ${reason}`;
    events.push({ ...about, detail, at: approved_at.toISOString(), title: `${word} approved`, by: approver ?? undefined });
  }
  if (closed_at !== null) events.push({ ...about, at: closed_at.toISOString(), title: `${word} ended: ${state}`, outcome: state });
  return events;
}

function auditEvent({ at, person, action, subject }: AuditRecord): TimelineEvent {
  const text = (name: string): string | undefined => (typeof subject[name] === 'string' ? subject[name] : undefined);
  return {
    at: at.toISOString(),
    kind: 'action',
    title: `${person}: ${action.replaceAll('.', ' ').replaceAll('_', ' ')}`,
    service: 'operator',
    destination: text('destination'),
    operation_key: text('operation_key'),
    by: person,
    outcome: action,
    detail: text('reason'),
  };
}
