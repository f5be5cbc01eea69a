import { randomUUID } from 'node:crypto';
import type { DestinationControl, DestinationControlOptions } from './control.js';
import { SharedControl } from './shared-control.js';
import { stateFeed } from './state-feed.js';

/** The control of one destination in this process. Its row is read and told through what all destinations of the database share. */
export function createDestinationControl(options: DestinationControlOptions): DestinationControl {
  const { db, notifications, logger, instanceId, ...rest } = options;
  const store = stateFeed(db, { notifications, logger });
  return new SharedControl({ ...rest, store, logger, instanceId: instanceId ?? randomUUID(), random: Math.random });
}
