import type { Site } from './site.js';

/**
 * Whether somebody is told about a lead by its outcome at a destination that the site file has no more: where none of its other destinations
 * is the primary one. What the removed one was is not known any more.
 */
export function standsForLead(
  { destinations }: { destinations: Readonly<Record<string, Pick<Site['destinations'][string], 'primary'>>> },
  planned: readonly string[],
  removed: string,
): boolean {
  return planned.every((name) => name === removed || destinations[name]?.primary !== true);
}
