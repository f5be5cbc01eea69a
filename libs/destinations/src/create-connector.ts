import type { OnCallTime } from '#delivery';
import { type DestinationConfig, type Hmacs, resolveSecret } from '#runtime';
import type { Connector } from './connector.js';
import { WebhookConnector } from './webhook/webhook-connector.js';

export interface ConnectorSettings {
  name: string;
  config: DestinationConfig;
  /** Folder that `secret: { file }` is relative to. */
  secretsDir: string;
  hmacs: Pick<Hmacs, 'ref'>;
  /** Told how long calls that write took. */
  onTime?: OnCallTime;
}

const factories: Readonly<Record<DestinationConfig['connector'], (settings: ConnectorSettings) => Connector>> = {
  webhook: ({ secretsDir, ...settings }) =>
    new WebhookConnector({ ...settings, secret: resolveSecret(settings.config.secret, secretsDir) }),
};

/** The connector that a destination's configuration names. @throws ConfigError when its secret or a lookup template is not usable. */
export function createConnector(settings: ConnectorSettings): Connector {
  return factories[settings.config.connector](settings);
}
