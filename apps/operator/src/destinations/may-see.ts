import type { RouteConfig, Site } from '#runtime';
import { mayRead, type Person } from '../people/person.js';

/** What the site file says of who uses a destination or channel. */
export type Routes = Pick<Site, 'routing' | 'sources'>;

/** Organizations whose leads may go there, each once. */
export function organizationsOf({ routing, sources }: Routes, name: string): string[] {
  const all = sources.map(({ organization }) => organization);
  const of = ({ match }: RouteConfig): string[] => (match.organization === undefined ? all : [match.organization]);
  return [...new Set(routing.filter((rule) => rule.destinations.includes(name) || rule.chat === name).flatMap(of))];
}

/** A person sees a destination that leads of an own organization go to; who sees all organizations sees all. */
export function maySee(site: Routes, name: string, person: Pick<Person, 'organizations'>): boolean {
  return person.organizations === '*' || organizationsOf(site, name).some((organization) => mayRead(person, organization));
}

/** Organizations that use it and that the person may not see: to hold it would hold their leads. */
export function othersThere(site: Routes, name: string, person: Pick<Person, 'organizations'>): string[] {
  return organizationsOf(site, name).filter((organization) => !mayRead(person, organization));
}
