import type { DestinationConfig } from '#runtime';
import type { Connector } from './connector.js';

export interface ConnectorSettings {
  name: string;
  config: DestinationConfig;
  /** Folder that `secret: { file }` is relative to. */
  secretsDir: string;
}

/** The connector a destination's configuration names. @throws when no connector has that name. */
export function createConnector(_settings: ConnectorSettings): Connector {
  throw new Error('not implemented');
}
