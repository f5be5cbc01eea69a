import type { LeadCourse, MaskedContact } from '#contracts';
import type { DestinationsAnswer, Discrepancy, HistoryItem } from '#delivery';
import { InternalRefused, InternalUnavailable, type Sql } from '#runtime';
import { Refusal } from '../http/refusal.js';
import type { OwnerApi } from '../owners/owner-api.js';
import type { ReconcilerApi } from '../reconciliation/reconciler-api.js';
import type { IntakeApi } from './intake-api.js';
import { type OwnRecords, ownRecords } from './own-records.js';

/** Everything that the services know of one lead; what a service that did not answer knows is undefined. */
export interface LeadRecords {
  eventId: string;
  course: LeadCourse | undefined;
  /** Undefined: intake or its vault did not answer, or keeps nothing. */
  masked: MaskedContact | undefined;
  /** Deliveries by the service that owns them. */
  histories: ReadonlyMap<string, HistoryItem[]>;
  destinations: DestinationsAnswer['items'];
  /** What was found to differ at destinations. */
  discrepancies: Discrepancy[];
  own: OwnRecords;
  /** Services that did not answer. */
  unavailable: string[];
}

export interface LeadTools {
  db: Sql;
  intake: IntakeApi;
  owners: ReadonlyMap<string, OwnerApi>;
  /** Absent: nothing is compared here. */
  reconciler?: Pick<ReconcilerApi, 'discrepancies'>;
}

/** Asks all services about a lead at once. One that does not answer is named, and keeps nobody from what the others know. */
export async function leadRecords({ db, intake, owners, reconciler }: LeadTools, eventId: string): Promise<LeadRecords> {
  const unavailable = new Set<string>();
  const ask = <T>(service: string, answer: Promise<T>): Promise<T | undefined> =>
    answer.catch((error: unknown) => {
      if (!isAway(error)) throw error;
      unavailable.add(service);
      return undefined;
    });
  const course = ask('intake', intake.course(eventId));
  const masked = course.then((known) => (known?.lead_ref == null ? undefined : ask('intake', intake.mask(known.lead_ref))));
  const histories = [...owners].map(
    async ([service, owner]) => [service, await ask(service, owner.histories([{ event_id: eventId }]))] as const,
  );
  const writer = owners.get('crm-writer');
  const destinations = writer === undefined ? undefined : ask('crm-writer', writer.destinations());
  const compared = reconciler && ask('reconciler', reconciler.discrepancies({ event_ids: [eventId], limit: mostDiscrepancies }));
  const [own, known, contact, heard, standing, differing] = await Promise.all([
    ownRecords(db, eventId),
    course,
    masked,
    Promise.all(histories),
    destinations,
    compared,
  ]);
  return {
    eventId,
    course: known,
    masked: contact?.masked ?? undefined,
    histories: new Map(heard.filter((one): one is readonly [string, HistoryItem[]] => one[1] !== undefined)),
    destinations: standing?.items ?? [],
    discrepancies: differing?.items ?? [],
    own,
    unavailable: [...unavailable].sort(),
  };
}

/** Of one lead there are few. */
const mostDiscrepancies = 200;

const isAway = (error: unknown): boolean =>
  error instanceof InternalUnavailable || error instanceof InternalRefused || (error instanceof Refusal && error.problem.status === 503);

/** Whose lead it is; undefined where nobody who answered knows it. */
export function organizationOf({ course, own }: Pick<LeadRecords, 'course' | 'own'>): string | undefined {
  return course?.organization ?? own.letters.find(({ organization }) => organization !== null)?.organization ?? undefined;
}
