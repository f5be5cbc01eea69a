import type { OnCallTime } from '#delivery';
import { ConfigError, type DestinationConfig, type Hmacs, resolveSecret } from '#runtime';
import type { Connector } from './connector.js';
import type { OwnerOf } from './owner.js';
import { TrytonConnector, trytonCapabilities } from './tryton/tryton-connector.js';
import { WebhookConnector } from './webhook/webhook-connector.js';

export interface ConnectorSettings {
  name: string;
  config: DestinationConfig;
  /** Folder that `secret: { file }` is relative to. */
  secretsDir: string;
  hmacs: Pick<Hmacs, 'ref'>;
  /** Who a lead is given to, where the destination keeps that. Default: nobody. */
  ownerOf?: OwnerOf;
  /** Told how long calls that write took. */
  onTime?: OnCallTime;
}

interface Protocol {
  create(settings: ConnectorSettings): Connector;
  /** Kinds whose records can be looked up. */
  lookup(config: DestinationConfig): readonly string[];
}

const secretOf = ({ config, secretsDir }: ConnectorSettings): string => resolveSecret(config.secret, secretsDir);

const protocols: Readonly<Record<DestinationConfig['connector'], Protocol>> = {
  webhook: {
    create: (settings) => new WebhookConnector({ ...settings, secret: secretOf(settings) }),
    lookup: (config) => Object.keys(config.lookup),
  },
  tryton: {
    create: (settings) => {
      const { tryton } = settings.config;
      if (tryton === undefined) throw missingTryton(settings.name);
      return new TrytonConnector({ ...settings, tryton, password: secretOf(settings), ownerOf: settings.ownerOf ?? (() => undefined) });
    },
    lookup: () => trytonCapabilities.lookup,
  },
};

const missingTryton = (name: string): ConfigError =>
  new ConfigError([{ path: `destinations.${name}.tryton`, problem: 'is missing', fix: 'Give the database and the user' }]);

/** The connector that a destination's configuration names. @throws ConfigError when its secret or a setting is not usable. */
export function createConnector(settings: ConnectorSettings): Connector {
  return protocols[settings.config.connector].create(settings);
}

/** The kinds that can be looked up at a destination, by its configuration alone: for whoever knows its rows and never calls it. */
export function lookupKinds(config: DestinationConfig): readonly string[] {
  return protocols[config.connector].lookup(config);
}
