export { deliveryDdl } from './ddl.js';
export { DeliveryEngine, type DeliveryEngineOptions, type GroupControl } from './engine.js';
export type { Outcome, OutcomeKind } from './outcome.js';
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
export type { LeadPayload, Vault, VaultItem } from './vault.js';
