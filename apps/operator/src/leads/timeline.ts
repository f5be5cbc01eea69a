import { type CourseDelivery, type FailurePolicy, failurePolicies, type LeadCourse, operationKey, parseNotificationName } from '#contracts';
import type { DestinationsAnswer, HistoryItem } from '#delivery';
import type { Site } from '#runtime';
import { type LeadRecords, organizationOf } from './lead-records.js';
import type { LetterRecord, ReplayRecord } from './own-records.js';
import { summarise } from './summary.js';
import type { Blocked, SummaryDelivery, SummaryFacts, SummaryNotification } from './summary-facts.js';
import { eventsOf } from './timeline-events.js';
import type { Timeline, TimelineDelivery } from './timeline-shape.js';
import { whyThen } from './why-then.js';

type SiteNames = Pick<Site, 'destinations' | 'owners'>;

/** One lead through all services, from what each of them answered. Undefined where nobody who answered knows it. Pure. */
export function toTimeline(records: LeadRecords, site: SiteNames): Timeline | undefined {
  const organization = organizationOf(records);
  if (organization === undefined) return undefined;
  const { course, own, masked } = records;
  const [letter] = own.letters;
  const deliveries = deliveriesOf(records);
  const ownerId = course?.owner;
  const owner = ownerId == null ? null : (site.owners[ownerId]?.name ?? ownerId);
  return {
    event_id: records.eventId,
    lead_ref: course?.lead_ref ?? letter?.lead_ref ?? null,
    organization,
    source: course?.source ?? letter?.source ?? null,
    form: course?.form ?? letter?.form ?? null,
    campaign: course?.campaign ?? null,
    submitted_at: course?.submitted_at ?? letter?.submitted_at?.toISOString() ?? null,
    accepted_at: course?.accepted_at ?? null,
    deadline_at: course?.deadline_at ?? null,
    owner,
    test: course?.test ?? false,
    trace_id: course?.trace_id ?? null,
    masked: masked ?? null,
    vault: course?.vault ?? null,
    supersedes: course?.supersedes ?? null,
    superseded_by: course?.superseded_by ?? [],
    summary: summarise(summaryFacts(records, { deliveries, site, owner: owner ?? undefined })),
    deliveries,
    events: eventsOf(records),
    dead_letters: own.letters.map(toLetter),
    notifications: notificationsOf(records),
    replays: own.replays.map(toReplay),
    unavailable: records.unavailable,
  };
}

/** As its owner says now; where the owner does not answer, or does not know it, as intake heard last. */
function deliveriesOf({ course, histories, destinations }: LeadRecords): TimelineDelivery[] {
  const live = [...histories].flatMap(([service, items]) => items.map((item) => liveDelivery(service, item, destinations)));
  const claimed = new Set(live.filter(({ service }) => service === 'crm-writer').map(({ destination }) => destination));
  if (course === undefined) return live;
  const heard = course.deliveries.filter(({ destination }) => !claimed.has(destination));
  return [...heard.map((delivery) => heardDelivery(course, delivery, destinations)), ...live];
}

function heardDelivery(
  { event_id, deadline_at }: LeadCourse,
  { destination, state, class: failure, code, generation, operations, as_of, claimed_at }: CourseDelivery,
  destinations: DestinationsAnswer['items'],
): TimelineDelivery {
  // What ended without ever having been claimed ended at intake.
  const own = state !== 'accepted' && claimed_at === undefined;
  return {
    service: own ? 'intake' : 'crm-writer',
    destination,
    state,
    class: failure,
    code,
    as_of,
    deadline_at: deadline_at ?? undefined,
    generation,
    why: whyThen({ destination, state, class: failure, code, blocked: blockedBy(destinations, destination) }),
    operations: operations.map((operation) => ({
      ...operation,
      operation_key: operationKey(event_id, destination, operation.kind, generation),
      attempts: 0,
    })),
  };
}

function liveDelivery(service: string, item: HistoryItem, destinations: DestinationsAnswer['items']): TimelineDelivery {
  const { destination, state, class: failure, code, deadline_at, original_deadline_at, generation, next_attempt_at, operations } = item;
  const blocked = service === 'crm-writer' ? blockedBy(destinations, destination) : undefined;
  return {
    service,
    destination,
    state,
    class: failure,
    code,
    deadline_at,
    original_deadline_at,
    generation,
    next_attempt_at,
    why: whyThen({ destination, state, class: failure, code, blocked }),
    operations,
  };
}

/** Why a destination is not sent to; undefined while it is. */
function blockedBy(destinations: DestinationsAnswer['items'], name: string): Blocked | undefined {
  const standing = destinations.find(({ destination }) => destination === name);
  if (standing === undefined || standing.mode === 'flowing') return undefined;
  return standing.hold === undefined ? (standing.reason as Blocked | undefined) : 'hold';
}

function summaryFacts(
  records: LeadRecords,
  { deliveries, site, owner }: { deliveries: readonly TimelineDelivery[]; site: SiteNames; owner?: string },
): SummaryFacts {
  const { course, own, destinations } = records;
  const [refusal] = course?.refusals ?? [];
  return {
    test: course?.test ?? false,
    refused: course !== undefined && course.accepted_at === null && refusal !== undefined ? { class: refusal.class } : undefined,
    owner,
    erased: course?.erased ?? false,
    consentWithdrawn: course !== undefined && course.vault.consent_withdrawn_at !== null,
    deliveries: deliveries
      .filter(({ service }) => service !== 'notifier')
      .map(({ destination, state, class: failure, code, next_attempt_at, deadline_at, operations }): SummaryDelivery => {
        return {
          destination,
          primary: site.destinations[destination]?.primary ?? false,
          writesToCustomer: site.destinations[destination]?.requiresConsent ?? false,
          state: state as SummaryDelivery['state'],
          class: failure,
          code,
          ref: operations.findLast(({ ref }) => ref !== undefined)?.ref,
          nextAttemptAt: next_attempt_at,
          deadlineAt: deadline_at,
          blocked: blockedBy(destinations, destination),
        };
      }),
    notifications: knownNotifications(records),
    replaying: own.replays.some(({ state }) => state === 'open'),
  };
}

/** Undefined where the notifier did not answer and intake has not heard of any either. */
function knownNotifications(records: LeadRecords): SummaryNotification[] | undefined {
  const told = notificationsOf(records);
  return told.length === 0 && records.unavailable.includes('notifier') ? undefined : told;
}

function notificationsOf({ course, histories }: LeadRecords): Timeline['notifications'] {
  const live = histories.get('notifier');
  if (live === undefined) return course?.notifications ?? [];
  return live.flatMap(({ destination, state, next_attempt_at, operations }) => {
    const key = parseNotificationName(destination);
    if (key === undefined) return [];
    return [{ channel: key.channel, template: key.template, state: operations[0]?.state ?? state, next_attempt_at }];
  });
}

function toLetter(letter: LetterRecord): Timeline['dead_letters'][number] {
  const { dead_letter_id, state, closed_as, closed_at, service, destination, class: failure, code, owner, disposition } = letter;
  const policy = (failurePolicies as Readonly<Record<string, FailurePolicy>>)[failure];
  return {
    dead_letter_id,
    state,
    closed_as,
    closed_at: closed_at?.toISOString(),
    service,
    destination,
    class: failure,
    code,
    dead_at: letter.dead_at.toISOString(),
    owner,
    disposition,
    respond_by: letter.respond_by.toISOString(),
    delete_after: letter.delete_after.toISOString(),
    runbook: policy?.runbook,
  };
}

function toReplay({ service: _, approved_at, deadline_at, closed_at, ...replay }: ReplayRecord): Timeline['replays'][number] {
  return {
    ...replay,
    approved_at: approved_at?.toISOString(),
    deadline_at: deadline_at?.toISOString(),
    closed_at: closed_at?.toISOString(),
  };
}
