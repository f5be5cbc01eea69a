export {
  type AcceptedItem,
  type AcceptedPage,
  type BalanceSources,
  balanceSources,
  heldDestinations,
} from './balance/balance-sources.js';
export { type Balance, type DeliveryId, type IntakePlace, intakePlaces } from './balance/compare.js';
export { takeBalance } from './balance/take-balance.js';
export { type Claim, createClaim } from './claims.js';
export {
  type ContactLock,
  type Contacts,
  type ContactsOptions,
  type ContactWrite,
  createContacts,
  type KnownContact,
} from './contacts/index.js';
export { deliveryDatabaseSettings, deliveryDdl } from './ddl.js';
export { DeliveryEngine } from './engine.js';
export type { DeliveryEngineOptions, GroupControl } from './engine-options.js';
export type { Outcome, OutcomeKind } from './outcome.js';
export type { Permit } from './permits/permit.js';
export type { ReplayGate, ReplayVerdict } from './permits/replay-gate.js';
export {
  type DeliveryStateItem,
  type OperationStateItem,
  type StatesAnswer,
  type StatesRequest,
  statesRequest,
  statesRoute,
} from './states-route.js';
export { Sweeper, type SweeperOptions, type SweptTarget } from './sweeper.js';
export type { OperationReport, PerformContext, PlannedDelivery, PlannedOperation, ResolvedDelivery, Target } from './target.js';
export { type LeadPayload, type Vault, VaultIncomplete, vaultClient } from './vault.js';
