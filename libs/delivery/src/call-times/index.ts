export type { Percentiles } from './buckets.js';
export { type CallPhase, CallTimes, type OnCallTime } from './call-times.js';
export { callTimesDdl, callTimesDdlDown } from './ddl.js';
export {
  type DestinationFigures,
  type DestinationFiguresAnswer,
  destinationFiguresRequest,
  destinationFiguresRoute,
  type HourFigures,
} from './destination-figures.js';
export {
  type ReadUnclaimed,
  type Unclaimed,
  type UnclaimedLeads,
  type UnclaimedSum,
  type UnclaimedUnknown,
  unclaimedUnknowns,
} from './unclaimed.js';
