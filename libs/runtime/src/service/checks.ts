import { isAbsolute } from 'node:path';
import { ConfigError, type ConfigProblem } from '../config/config-error.js';
import { attempt } from '../config/env.js';
import { loadInternalTokens, resolveSecret } from '../config/secrets.js';
import type { DestinationOutline, NamedSecret, SiteOutline } from '../site/outline.js';

type Check = () => void;

/** Files of the secrets folder, each by its reader, which throws ConfigError. None while the folder itself is not named. */
export function secretFiles(dir: string | undefined, readers: readonly ((dir: string) => unknown)[]): Check[] {
  return dir === undefined ? [] : readers.map((read) => () => void read(dir));
}

/** Secrets that the site file names. Those in the folder are passed over while it is not named. */
export function namedSecrets(secrets: readonly NamedSecret[], { dir, env }: { dir: string | undefined; env?: NodeJS.ProcessEnv }): Check[] {
  return secrets
    .filter(({ ref }) => dir !== undefined || 'env' in ref || isAbsolute(ref.file))
    .map(({ path, ref }) => () => {
      const { problems } = attempt(() => resolveSecret(ref, dir ?? '', env));
      refuse(problems.map((problem) => ({ ...problem, path: `${path}: ${problem.path}` })));
    });
}

/** The secrets of the named destinations; of all of them by default. */
export function secretsOfDestinations(site: SiteOutline | undefined, names?: readonly string[]): NamedSecret[] {
  return chosen(site, names).flatMap(([, { secrets }]) => secrets);
}

/** The secrets of all channels. */
export function secretsOfChannels(site: SiteOutline | undefined): NamedSecret[] {
  return Object.values(site?.channels ?? {}).flatMap(({ secrets }) => secrets);
}

/** A claim must outlive the longest call: another process would take it over while the first still sends. */
export function leaseOutlasts(site: SiteOutline | undefined, leaseMs: number | undefined, names?: readonly string[]): Check {
  return () => refuse(leaseMs === undefined ? [] : chosen(site, names).flatMap((one) => beyondLease(one, leaseMs)));
}

function beyondLease([name, { timeoutMs, lookupTimeoutMs }]: [string, DestinationOutline], leaseMs: number): ConfigProblem[] {
  return Object.entries({ timeout_ms: timeoutMs, lookup_timeout_ms: lookupTimeoutMs })
    .filter(([, ms]) => ms !== undefined && ms >= leaseMs)
    .map(([field]) => ({
      path: `destinations.${name}.${field}`,
      problem: `is not shorter than LEASE_MS (${leaseMs})`,
      fix: 'Shorten the timeout or lengthen LEASE_MS',
    }));
}

/** INTERNAL_URLS must name these services; the reason completes the fix. */
export function namesServices(urls: Readonly<Record<string, string>> | undefined, reasons: Readonly<Record<string, string>>): Check {
  return () => {
    if (urls === undefined) return;
    const missing = Object.entries(reasons).filter(([service]) => urls[service] === undefined);
    refuse(
      missing.map(([service, why]) => ({
        path: 'INTERNAL_URLS',
        problem: `does not name ${service}`,
        fix: `Add its internal base URL: ${why}`,
      })),
    );
  };
}

/** The caller's own token for the internal API of others. */
export const ownToken =
  (caller: string) =>
  (dir: string): void => {
    const has = Object.hasOwn(loadInternalTokens(dir), caller);
    refuse(has ? [] : [{ path: `${dir}/internal-tokens.json`, problem: `has no token of ${caller}`, fix: `Add one under "${caller}"` }]);
  };

function chosen(site: SiteOutline | undefined, names: readonly string[] | undefined): [string, DestinationOutline][] {
  return Object.entries(site?.destinations ?? {}).filter(([name]) => names?.includes(name) ?? true);
}

function refuse(problems: ConfigProblem[]): void {
  if (problems.length > 0) throw new ConfigError(problems);
}
