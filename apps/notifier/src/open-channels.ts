import { type Channel, createChannels } from '#destinations';
import type { Hmacs, Site } from '#runtime';

export interface OpenChannel extends Channel {
  /** Keyed hash of the recipient: tells recipients apart in tables, logs and traces without naming them. */
  recipientKey: string;
}

export interface ChannelSecrets {
  secretsDir: string;
  hmacs: Hmacs;
}

/** The channels of the site file by name, in its order. Throws ConfigError with every secret that is missing. */
export function openChannels(site: Pick<Site, 'channels'>, { secretsDir, hmacs }: ChannelSecrets): Map<string, OpenChannel> {
  const created = createChannels(site.channels, secretsDir);
  return new Map([...created].map(([name, channel]) => [name, { ...channel, recipientKey: hmacs.ref('notifier', channel.recipient) }]));
}
