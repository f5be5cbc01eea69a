import { z } from 'zod';
import {
  attempt,
  ConfigError,
  leaseOutlasts,
  namedSecrets,
  readEnv,
  readSite,
  secretsOfChannels,
  secretsOfDestinations,
  timingEnv,
} from '#runtime';
import { commonEnvironment, type Surroundings } from './environment.js';

/**
 * Reads the site file and every secret it names as the services will, and holds its timeouts against their lease, before anything is started: a
 * mistake would else be found by the first service, a minute later. Throws ConfigError with all problems.
 */
export function checkSite(around: Omit<Surroundings, 'connections'>): void {
  const env = commonEnvironment({ ...around, connections: { databaseUrl: '', kafkaBrokers: '', schemaRegistry: '' } });
  const { outline, problems } = readSite(around.siteFile, env);
  const timing = readEnv(z.object({ LEASE_MS: timingEnv.LEASE_MS }), env);
  const checks = [
    leaseOutlasts(outline, timing.known.LEASE_MS),
    ...namedSecrets([...secretsOfDestinations(outline), ...secretsOfChannels(outline)], { dir: around.secretsDir, env }),
  ];
  const wrong = [...problems, ...timing.problems, ...checks.flatMap((check) => attempt(check).problems)];
  if (wrong.length > 0) throw new ConfigError(wrong);
}
