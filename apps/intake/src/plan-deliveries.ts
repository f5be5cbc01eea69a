import { unrouted } from '#contracts';
import { type PolicyConfig, route, type Site } from '#runtime';
import type { Submission } from './submission/normalise.js';

/** Why a lead has no destination to go to. */
export type UnroutedCode = 'no_route' | 'no_sandbox_destination' | 'no_consent';

/** What a lead is routed by. */
export type RoutedBy = Pick<Submission, 'organization' | 'source' | 'formSlug' | 'campaignSlug' | 'test' | 'consent'>;

/** Where a lead goes, who owns it and how long it may take. Never without a destination: what cannot be routed is a dead delivery of its own. */
export interface DeliveryPlan {
  destinations: string[];
  /** Set when the only destination is `unrouted`. */
  unrouted?: UnroutedCode;
  owner?: string;
  policy: PolicyConfig;
}

/** Decides by the site file alone; pure. A test lead keeps only sandbox destinations, a lead without consent only those that need none. */
export function planDeliveries(site: Site, lead: RoutedBy): DeliveryPlan {
  const rule = route(site, {
    organization: lead.organization,
    source: lead.source,
    form: lead.formSlug,
    campaign: lead.campaignSlug,
  });
  const policy = site.policies[rule?.policy ?? 'default'] ?? site.policies.default;
  // A lead nobody planned for still has somebody who must look at it: the first owner of the site file.
  const owner = rule?.owner ?? Object.keys(site.owners)[0];
  const dead = (code: UnroutedCode): DeliveryPlan => ({ destinations: [unrouted], unrouted: code, owner, policy });
  if (!rule || rule.destinations.length === 0) return dead('no_route');

  const config = (name: string) => site.destinations[name];
  const allowed = lead.test ? rule.destinations.filter((name) => config(name)?.sandbox) : rule.destinations;
  if (allowed.length === 0) return dead('no_sandbox_destination');
  const consented = lead.consent.given ? allowed : allowed.filter((name) => !config(name)?.requiresConsent);
  if (consented.length === 0) return dead('no_consent');
  return { destinations: consented, owner, policy };
}
