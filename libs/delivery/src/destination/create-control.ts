import type { DestinationControl, DestinationControlOptions } from './control.js';

export function createDestinationControl(_options: DestinationControlOptions): DestinationControl {
  throw new Error('not implemented');
}
