export {
  type AcceptedItem,
  type AcceptedPage,
  type BalanceSources,
  balanceSources,
  heldDestinations,
} from './balance/balance-sources.js';
export {
  type Balance,
  type DeliveryFacts,
  type DeliveryId,
  type IntakePlace,
  intakePlaces,
  type Place,
  placeOf,
} from './balance/compare.js';
export { addsUp, daysOfBalance, type ReceivedAnswer, type ReceivedDay, type ReceivedSums, sumReceived } from './balance/received.js';
export { takeBalance } from './balance/take-balance.js';
export {
  type CallPhase,
  CallTimes,
  callTimesDdl,
  callTimesDdlDown,
  type DestinationFigures,
  type DestinationFiguresAnswer,
  type HourFigures,
  type OnCallTime,
  type Percentiles,
  type ReadUnclaimed,
  type Unclaimed,
  type UnclaimedLeads,
  type UnclaimedSum,
  type UnclaimedUnknown,
  unclaimedUnknowns,
} from './call-times/index.js';
export { type Claim, createClaim } from './claims.js';
export {
  type CommandAnswer,
  type CommandRequest,
  commandRequest,
  deliveryName,
  finding,
  holdSeen,
  operationName,
} from './command-request.js';
export {
  type ContactLock,
  type Contacts,
  type ContactsOptions,
  type ContactWrite,
  contactBusy,
  createContacts,
  type KnownContact,
  type SettledWrite,
  type SettleOptions,
} from './contacts/index.js';
export { deliveryDatabaseSettings, deliveryDdl } from './ddl.js';
export { type DeadLetterInput, deadLetterRow } from './dead-letter-row.js';
export {
  type Admission,
  type AuthScope,
  createDestinationControl,
  type DestinationControl,
  type DestinationPolicy,
  type DestinationsAnswer,
  type KnownStates,
  knownStates,
  type Mode,
  type QuotaBucket,
  quotaBucketOf,
} from './destination/index.js';
export { DeliveryEngine } from './engine.js';
export type { DeliveryEngineOptions, GroupControl } from './engine-options.js';
export { type ExpireAnswer, type ExpireRequest, expireRequest, expireRoute } from './expire-route.js';
export { findDdl, findDdlDown } from './find-ddl.js';
export { type FindAnswer, type FindRequest, type FoundDelivery, findRequest, findRoute } from './find-route.js';
export {
  type AttemptItem,
  type HistoryAnswer,
  type HistoryItem,
  type HistoryRequest,
  historyRequest,
  historyRoute,
} from './history-route.js';
export { Lateness } from './lateness.js';
export { changedByPerson, type LookupResult, noReference, type Outcome, type OutcomeKind } from './outcome.js';
export type { BatchStatesAnswer, OpenBatchState } from './permits/batch-states.js';
export type { Permit, Repair } from './permits/permit.js';
export { loadPermitPrivateKey, loadPermitPublicKeys, loadSigningKey, loadVerifyingKeys } from './permits/permit-keys.js';
export { signPermit } from './permits/permit-token.js';
export { openReplayGate, type RefusedReplay, type ReplayGate, type ReplayGateOptions, type ReplayVerdict } from './permits/replay-gate.js';
export { openReplays, type Replays, type ReplaysOptions } from './permits/replays.js';
export type { FiguresAnswer, HourFigure, OpenFigure } from './queues/figures-route.js';
export type { WaitingAnswer, WaitingGroup, WaitingGroupsAnswer, WaitingItem } from './queues/waiting-route.js';
export { commandReason, reasonText } from './reason-text.js';
export * from './reconcile/index.js';
export { recoveryDdl, recoveryDdlDown } from './recovery-ddl.js';
export { type ComparedRecord, changedSince, type SinceCompared } from './replays/changed-since.js';
export { comparedDdl, comparedDdlDown } from './replays/compared-ddl.js';
export { type LookedUp, type LookedUpOperation, type LookupAnswer, type LookupRequest, lookupRequest } from './replays/lookup-route.js';
export {
  type ReadRecord,
  type RecordsRead,
  type RecordsReadAnswer,
  type RecordsReadRequest,
  recordOf,
} from './replays/records-route.js';
export type { ReplayFacts, ReplayFactsAnswer, ReplayFactsOperation } from './replays/replay-facts-route.js';
export type { ReplayItemState, ReplayItemsAnswer } from './replays/replay-items-route.js';
export { type ServeOptions, serveDeliveries } from './serve-deliveries.js';
export { settleContactOf } from './settle-contact.js';
export { settle } from './sql/settle.js';
export { lockStored } from './sql/stored.js';
export {
  type DeliveryStateItem,
  type OperationStateItem,
  type StatesAnswer,
  type StatesRequest,
  statesRequest,
  statesRoute,
} from './states-route.js';
export type { StoredChange } from './stored-change.js';
export type { StoredDelivery, StoredOperation } from './stored-delivery.js';
export { Sweeper, type SweeperOptions } from './sweeper.js';
export type { Standing } from './sweeper-holds.js';
export type { OlderRecord, SweptTarget, VerifiedTarget } from './swept-target.js';
export type {
  Backoff,
  ComparedOperation,
  LookupContext,
  OperationReport,
  PerformContext,
  PlannedDelivery,
  PlannedOperation,
  ResolvedDelivery,
  Target,
  Verification,
} from './target.js';
export { testLeadsDdl, testLeadsDdlDown } from './test-leads-ddl.js';
export { uncertainDdl, uncertainDdlDown } from './uncertain-ddl.js';
export {
  type UnresolvedAnswer,
  type UnresolvedItem,
  type UnresolvedRequest,
  unresolvedRequest,
  unresolvedRoute,
} from './unresolved-route.js';
export { createUpkeep, type Upkeep, type UpkeepOptions } from './upkeep.js';
export { type LeadPayload, type Vault, VaultIncomplete, vaultClient } from './vault.js';
export { Verifier, type VerifierOptions } from './verifier.js';
