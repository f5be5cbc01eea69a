import { type LeadResolved, unrouted } from '#contracts';
import { type RouteConfig, route, type Site } from '#runtime';

/** Why nobody is told. `secondary`: another destination's outcome counts; the rest are counted by name. */
export type SilenceReason = 'secondary' | 'outcome' | 'no_channel' | 'test_lead';

export type Telling =
  | {
      tell: true;
      channel: string;
      recipientKey: string;
      template: string;
      ownerName?: string;
      /** The rule names no owner that exists: told to the fallback chat, and a dead letter of class `unknown_owner`. */
      unknownOwner: boolean;
    }
  | {
      tell: false;
      reason: SilenceReason;
      channel?: string;
      /** Nobody is told, and somebody has to find its owner all the same: the rule names one who does not exist. */
      unknownOwner?: true;
    };

export const deliveredTemplate = 'lead_delivered';

/** A lead's outcome that somebody has to know, and the template that says so. What a person decided (discarded, erased) is not told back. */
const templates: Readonly<Record<string, string>> = {
  delivered: deliveredTemplate,
  dead: 'lead_dead',
  expired: 'lead_expired',
};

export interface TellableChannel {
  recipientKey: string;
  /** Test leads may be told there. */
  sandbox: boolean;
}

/**
 * Who is told what about a resolved delivery, by the site file alone. The lead is told about once, on its primary destination's outcome;
 * a lead without a route has only that outcome. Where no rule names a channel, the first of the site file stands in, so that a lead nobody
 * planned for is not lost in silence; it is also the fallback chat of leads whose rule names no owner that exists.
 */
export function decideTelling(
  site: Pick<Site, 'routing' | 'owners'>,
  channels: ReadonlyMap<string, TellableChannel>,
  event: LeadResolved,
): Telling {
  if (!event.primary && event.destination !== unrouted) return { tell: false, reason: 'secondary' };
  const template = templates[event.outcome];
  if (template === undefined) return { tell: false, reason: 'outcome' };
  const rule = routeOf(site, event);
  const unknownOwner = rule !== undefined && site.owners[rule.owner ?? ''] === undefined;
  const fallback = channels.keys().next().value;
  const name = unknownOwner ? fallback : (rule?.chat ?? fallback);
  const channel = name === undefined ? undefined : channels.get(name);
  // A site without channels tells nobody of anything: a rule that names no owner there misses none.
  const missed = unknownOwner && rule.owner !== undefined;
  if (name === undefined || channel === undefined) return { tell: false, reason: 'no_channel', ...(missed && { unknownOwner }) };
  if (event.test && !channel.sandbox) return { tell: false, reason: 'test_lead', channel: name };
  const owner = rule === undefined ? Object.keys(site.owners)[0] : rule.owner;
  const ownerName = owner === undefined ? undefined : site.owners[owner]?.name;
  return { tell: true, channel: name, recipientKey: channel.recipientKey, template, ownerName, unknownOwner };
}

function routeOf(site: Pick<Site, 'routing'>, event: LeadResolved): RouteConfig | undefined {
  const { organization, source, form, campaign } = event;
  return route(site, { organization, source, form: form ?? undefined, campaign: campaign ?? undefined });
}
