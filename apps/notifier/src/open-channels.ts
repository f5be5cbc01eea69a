import { type Channel, createTelegramChannel } from '#destinations';
import { type ChannelConfig, ConfigError, type ConfigProblem, resolveSecret, type Site } from '#runtime';

/** The channels of the site file by name, in its order. Throws ConfigError with every secret that is missing. */
export function openChannels(site: Pick<Site, 'channels'>, secretsDir: string): Map<string, Channel> {
  const problems: ConfigProblem[] = [];
  const channels = new Map<string, Channel>();
  for (const config of Object.values(site.channels)) {
    try {
      channels.set(config.name, openChannel(config, secretsDir));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems.map((problem) => ({ ...problem, path: `channels.${config.name}.token: ${problem.path}` })));
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return channels;
}

function openChannel({ name, apiUrl, token, chatId, sandbox }: ChannelConfig, secretsDir: string): Channel {
  return createTelegramChannel({ name, apiUrl, token: resolveSecret(token, secretsDir), chatId, sandbox });
}
