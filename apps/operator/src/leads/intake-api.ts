import type { FoundLead, LeadCourse, MaskAnswer, RevealAnswer } from '#contracts';
import { type InternalClient, InternalUnavailable } from '#runtime';
import type { SearchKind } from './search-kinds.js';

/** What intake is asked for by. */
export type IntakeKind = Extract<SearchKind, 'source_event_id' | 'trace_id' | 'lead_ref' | 'email' | 'phone'>;

/** Intake, which keeps leads and what is personal about them. Every method rejects with InternalUnavailable or InternalRefused. */
export interface IntakeApi {
  /** Organizations absent: of all. The value travels in the body alone. */
  find(kind: IntakeKind, value: string, organizations?: readonly string[]): Promise<FoundLead[]>;
  byIds(eventIds: readonly string[], organizations?: readonly string[]): Promise<FoundLead[]>;
  /** Undefined: intake knows no such lead, or not any more. */
  course(eventId: string): Promise<LeadCourse | undefined>;
  mask(leadRef: string): Promise<MaskAnswer>;
  /** The clear text: whoever asks has noted who sees it, and why. */
  reveal(lead: { eventId: string; leadRef: string }): Promise<RevealAnswer>;
}

/** Intake behind its internal API; `client` undefined where INTERNAL_URLS does not name it: then it never answers. */
export function intakeApi(client: Pick<InternalClient, 'post'> | undefined): IntakeApi {
  const post = <T>(path: string, body: object): Promise<T> =>
    client === undefined ? Promise.reject(new InternalUnavailable('INTERNAL_URLS does not name intake')) : client.post<T>(path, body);
  const find = async (body: object): Promise<FoundLead[]> => (await post<{ items: FoundLead[] }>('/internal/v1/leads:find', body)).items;
  return {
    find: (kind, value, organizations) => find({ kind, value, organizations }),
    byIds: async (values, organizations) => (values.length === 0 ? [] : find({ kind: 'event_ids', values, organizations })),
    course: async (event_id) => (await post<{ course: LeadCourse | null }>('/internal/v1/leads:course', { event_id })).course ?? undefined,
    mask: (lead_ref) => post('/internal/v1/vault:mask', { lead_ref }),
    reveal: ({ eventId, leadRef }) => post('/internal/v1/vault:reveal', { event_id: eventId, lead_ref: leadRef }),
  };
}
