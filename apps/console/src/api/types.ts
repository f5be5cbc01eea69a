// Names for what operator's API takes and answers. The shapes are generated from its contract; times are ISO 8601 in UTC, ages and durations are
// milliseconds.
import type { components } from './generated/operator.js';

type Schemas = components['schemas'];
/** One item of a list answer. */
type Item<T extends { items: unknown[] }> = T['items'][number];

export interface Page<T> {
  items: T[];
  /** To be given as `after`; absent on the last page. */
  next?: string | null;
}

export type Me = Schemas['MeMeResponse'];
export type Permission = Me['permissions'][number];
export const permissions = ['list', 'reveal', 'replay_request', 'replay_approve', 'delete', 'configure'] as const satisfies Permission[];
export type ConsoleConfig = Schemas['MeConfigResponse'];

export type SearchAnswer = Schemas['LeadsSearchResponse'];
export type SearchHit = Item<SearchAnswer>;

export type Timeline = Schemas['LeadsTimelineResponse'];
export type Summary = Timeline['summary'];
export type TimelineDelivery = Timeline['deliveries'][number];
export type TimelineOperation = TimelineDelivery['operations'][number];
export type TimelineEvent = Timeline['events'][number];
export type Revealed = Schemas['LeadsRevealResponse'];

/** What a person must decide on; of what is held or uncertain some fields are null. */
export type LetterList = Schemas['LettersListResponse'];
export type DeadLetter = Item<LetterList>;
/** A destination that nothing is sent to, with what lies on its topic. */
export type BlockedDestination = NonNullable<LetterList['blocked']>[number];
export type LetterGroups = Schemas['LettersGroupsResponse'];
export type LetterGroup = Item<LetterGroups>;
export type DismissedLetters = Schemas['LettersDismissManyResponse'];
export type Note = Item<Schemas['LettersNotesResponse']>;

export type DestinationList = Schemas['DestinationsListResponse'];
export type DestinationState = Item<DestinationList>;
export type Percentiles = NonNullable<DestinationState['latency']['total']>;

export type Overview = Schemas['OverviewOverviewResponse'];

export type Batch = Schemas['BatchesReportResponse'];
export type BatchItem = Item<Schemas['BatchesItemsResponse']>;
export type DraftRequest = Schemas['BatchesDraftRequest'];
/** Which open dead letters a batch is about. */
export type BatchFilter = NonNullable<DraftRequest['filter']>;
export type BatchEdit = Schemas['BatchesEditRequest'];

export type Erasure = Schemas['ErasuresShowResponse'];
export type ErasureSummary = Item<Schemas['ErasuresListResponse']>;
export type Correction = Schemas['CorrectionsShowResponse'];
export const correctionStates = ['draft', 'approved', 'sent', 'done', 'failed', 'expired'] as const satisfies Correction['state'][];

export type ReconciliationRun = Item<Schemas['ReconciliationRunsResponse']>;
export type RunRequest = Schemas['ReconciliationStartRequest'];
export type Discrepancy = Item<Schemas['ReconciliationDiscrepanciesResponse']>;
export type RepairRequest = Schemas['ReconciliationRepairRequest'];
export type RepairDraft = Schemas['ReconciliationRepairResponse'];
export type Balances = Schemas['ReconciliationBalancesResponse'];
export type BalanceDay = Item<Balances>;

export type AuditEntry = Item<Schemas['AuditListResponse']>;
export type AuditReport = Schemas['AuditVerifyResponse'];
