export { type HoldRequest, heldDestinations, holdDestination, releaseDestination } from './commands.js';
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
