import { type Channel, createTelegramChannel } from '#destinations';
import { type ChannelConfig, ConfigError, type ConfigProblem, type Hmacs, resolveSecret, type Site } from '#runtime';

export interface OpenChannel extends Channel {
  /** Keyed hash of the recipient: tells recipients apart in tables, logs and traces without naming them. */
  recipientKey: string;
}

export interface ChannelSecrets {
  secretsDir: string;
  hmacs: Hmacs;
}

/** The channels of the site file by name, in its order. Throws ConfigError with every secret that is missing. */
export function openChannels(site: Pick<Site, 'channels'>, secrets: ChannelSecrets): Map<string, OpenChannel> {
  const problems: ConfigProblem[] = [];
  const channels = new Map<string, OpenChannel>();
  for (const config of Object.values(site.channels)) {
    try {
      channels.set(config.name, openChannel(config, secrets));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems.map((problem) => ({ ...problem, path: `channels.${config.name}.token: ${problem.path}` })));
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return channels;
}

function openChannel({ name, apiUrl, token, chatId, sandbox }: ChannelConfig, { secretsDir, hmacs }: ChannelSecrets): OpenChannel {
  const channel = createTelegramChannel({ name, apiUrl, token: resolveSecret(token, secretsDir), chatId, sandbox });
  return { ...channel, recipientKey: hmacs.ref('notifier', chatId) };
}
