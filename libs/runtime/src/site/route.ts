import type { RouteConfig, Site } from './site.js';

/** What a lead is routed by. */
export interface RouteSubject {
  organization: string;
  source: string;
  form?: string;
  campaign?: string;
}

/** The first rule whose every named field equals the lead's; undefined when none does. */
export function route(site: Pick<Site, 'routing'>, lead: RouteSubject): RouteConfig | undefined {
  return site.routing.find(({ match }) => {
    if (match.organization !== undefined && match.organization !== lead.organization) return false;
    if (match.source !== undefined && match.source !== lead.source) return false;
    if (match.form !== undefined && match.form !== lead.form) return false;
    return match.campaign === undefined || match.campaign === lead.campaign;
  });
}
