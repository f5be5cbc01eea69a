import { type ChannelConfig, ConfigError, type ConfigProblem, resolveSecret } from '#runtime';
import type { Channel } from './channel.js';
import { createTelegramChannel } from './telegram.js';

/** The channel of a part of the site file; it connects when it is first used. Throws ConfigError when its secret is missing. */
function createChannel({ name, apiUrl, token, chatId, sandbox }: ChannelConfig, secretsDir: string): Channel {
  return createTelegramChannel({ name, apiUrl, token: resolveSecret(token, secretsDir), chatId, sandbox });
}

/** The channels by name, in the order of the site file. Throws ConfigError with every secret that is missing. */
export function createChannels(channels: Readonly<Record<string, ChannelConfig>>, secretsDir: string): Map<string, Channel> {
  const problems: ConfigProblem[] = [];
  const created = new Map<string, Channel>();
  for (const config of Object.values(channels)) {
    try {
      created.set(config.name, createChannel(config, secretsDir));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems.map((problem) => ({ ...problem, path: `channels.${config.name}.token: ${problem.path}` })));
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return created;
}
