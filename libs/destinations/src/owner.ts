import type { LeadAccepted } from '#contracts';
import { route, type Site } from '#runtime';

/** Who a lead is given to, by the name that routing has for them. */
export type OwnerOf = (event: LeadAccepted) => string | undefined;

/** The owner that the first matching rule of the site file names. */
export function ownersOf(site: Pick<Site, 'routing'>): OwnerOf {
  return ({ organization, source, form, campaign }) =>
    route(site, { organization, source, form: form ?? undefined, campaign: campaign ?? undefined })?.owner;
}
