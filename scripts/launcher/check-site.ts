import { loadAll, loadSite, resolveSecret } from '#runtime';
import { commonEnvironment, type Surroundings } from './environment.js';

/**
 * Reads the site file and every secret it names as the services will, before anything is started: a mistake would else be found by the
 * first service, a minute later. Throws ConfigError with all problems.
 */
export function checkSite(around: Omit<Surroundings, 'connections'>): void {
  const env = commonEnvironment({ ...around, connections: { databaseUrl: '', kafkaBrokers: '', schemaRegistry: '' } });
  const site = loadSite(around.siteFile, env);
  const secrets = [
    ...Object.values(site.destinations).map(({ secret }) => secret),
    ...Object.values(site.channels).map(({ token }) => token),
  ];
  loadAll(...secrets.map((secret) => () => resolveSecret(secret, around.secretsDir, env)));
}
