export {
  commandDestination,
  type DestinationCommand,
  destinationsToProbe,
  type HoldRequest,
  heldDestinations,
  holdCommand,
  holdDestination,
  type ReleaseRequest,
  releaseCommand,
  releaseDestination,
} from './commands.js';
export type {
  Admission,
  AuthOutcome,
  AuthScope,
  BlockReason,
  BreakerPolicy,
  DestinationControl,
  DestinationControlOptions,
  DestinationPolicy,
  Mode,
  Quota,
} from './control.js';
export { createDestinationControl } from './create-control.js';
export { destinationDdl } from './ddl.js';
export { type DestinationItem, type DestinationsAnswer, destinationsRequest, destinationsRoute } from './destinations-route.js';
