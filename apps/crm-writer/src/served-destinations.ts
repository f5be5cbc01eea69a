import { ConfigError, type DestinationConfig, type Site } from '#runtime';

/** The destinations that this process serves: those of LD_DESTINATIONS, all where it is unset. Throws ConfigError for an unknown name. */
export function servedDestinations(site: Pick<Site, 'destinations'>, names?: readonly string[]): DestinationConfig[] {
  const wanted = new Set(names ?? Object.keys(site.destinations));
  checkNames([...wanted], Object.keys(site.destinations));
  return [...wanted].flatMap((name) => site.destinations[name] ?? []);
}

/** Throws ConfigError for every name that the site file does not have; nothing can be said where that cannot be read. */
export function checkNames(names: readonly string[], known: readonly string[] | undefined): void {
  const unknown = names.filter((name) => known?.includes(name) === false);
  const fix = known === undefined || known.length === 0 ? 'Define it there' : `Use some of: ${known.join(', ')}`;
  const problem = 'names a destination that the site file does not have';
  if (unknown.length > 0) throw new ConfigError(unknown.map(() => ({ path: 'LD_DESTINATIONS', problem, fix })));
}
