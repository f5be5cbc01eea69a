export { destinationsToProbe, heldDestinations, holdDestination, releaseDestination } from './commands.js';
export type { Admission, AuthScope, DestinationControl, DestinationPolicy, Mode } from './control.js';
export { createDestinationControl } from './create-control.js';
export { type DestinationsAnswer, destinationsRequest, destinationsRoute } from './destinations-route.js';
export { type KnownStates, knownStates } from './known-states.js';
