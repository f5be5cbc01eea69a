import { type DestinationConfig, type Hmacs, resolveSecret } from '#runtime';
import type { Connector } from './connector.js';
import { WebhookConnector } from './webhook/webhook-connector.js';

export interface ConnectorSettings {
  name: string;
  config: DestinationConfig;
  /** Folder that `secret: { file }` is relative to. */
  secretsDir: string;
  hmacs: Pick<Hmacs, 'ref'>;
}

const factories: Readonly<Record<DestinationConfig['connector'], (settings: ConnectorSettings) => Connector>> = {
  webhook: ({ name, config, secretsDir, hmacs }) =>
    new WebhookConnector({ name, config, secret: resolveSecret(config.secret, secretsDir), hmacs }),
};

/** The connector that a destination's configuration names. @throws ConfigError when its secret or a lookup template is not usable. */
export function createConnector(settings: ConnectorSettings): Connector {
  return factories[settings.config.connector](settings);
}
