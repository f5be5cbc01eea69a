import { ConfigError, type ConfigProblem, type DestinationConfig, type Site } from '#runtime';

export interface ServeOptions {
  /** LD_DESTINATIONS; all where it is unset. */
  names?: readonly string[];
  leaseMs: number;
}

/** The destinations that this process serves. Throws ConfigError with every unknown name and every timeout that its lease cannot cover. */
export function servedDestinations(site: Pick<Site, 'destinations'>, { names, leaseMs }: ServeOptions): DestinationConfig[] {
  const wanted = names ?? Object.keys(site.destinations);
  const problems: ConfigProblem[] = [];
  const served: DestinationConfig[] = [];
  for (const name of new Set(wanted)) {
    const config = site.destinations[name];
    if (config === undefined) {
      problems.push({ path: 'LD_DESTINATIONS', problem: 'names a destination that the site file does not have', fix: 'Correct the list' });
    } else {
      problems.push(...beyondLease(config, leaseMs));
      served.push(config);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return served;
}

function beyondLease({ name, timeoutMs, lookupTimeoutMs }: DestinationConfig, leaseMs: number): ConfigProblem[] {
  return Object.entries({ timeout_ms: timeoutMs, lookup_timeout_ms: lookupTimeoutMs })
    .filter(([, ms]) => ms >= leaseMs)
    .map(([field]) => ({
      path: `destinations.${name}.${field}`,
      problem: 'is not shorter than LEASE_MS',
      fix: 'Shorten the timeout or lengthen LEASE_MS',
    }));
}
