import { parseNotificationName } from '#contracts';
import type { WindowItem } from '#delivery';
import { type RouteConfig, route, type Site } from '#runtime';
import type { Finding } from './finding.js';

/** Within this somebody is told what became of a lead. */
const tellWithinMs = 300_000;

/** Outcomes that are told; what a person decided (discarded, erased) is not told back. */
const toldOutcomes: readonly string[] = ['delivered', 'dead', 'expired'];

/** What the events say that routing goes by. */
export interface RoutedLead {
  source: string;
}

/** Whether somebody was to be told by now about this delivery at a primary destination. Pure. */
export function isToldAbout(item: WindowItem, lead: RoutedLead, { site, nowMs }: { site: Site; nowMs: number }): boolean {
  if (!toldOutcomes.includes(item.state) || item.finished_at === undefined) return false;
  if (nowMs < Date.parse(item.finished_at) + tellWithinMs) return false;
  const channel = channelOf(
    site,
    route(site, { organization: item.organization, source: lead.source, form: item.form, campaign: item.campaign }),
  );
  return channel !== undefined && (!item.test || channel.sandbox);
}

function channelOf(site: Site, rule: RouteConfig | undefined): Site['channels'][string] | undefined {
  const [fallback] = Object.values(site.channels);
  const unknownOwner = rule !== undefined && site.owners[rule.owner ?? ''] === undefined;
  return unknownOwner || rule?.chat === undefined ? fallback : site.channels[rule.chat];
}

/**
 * Told-nobody where no message about the lead was sent or may have been sent. Pure.
 * @param notifications what the notifier has of the event
 */
export function judgeTelling(item: WindowItem, notifications: readonly WindowItem[]): Finding | undefined {
  const about = notifications.filter(({ destination }) => parseNotificationName(destination)?.scope === 'lead');
  const isTold = about.some(({ state }) => state === 'delivered' || state === 'uncertain');
  if (isTold) return undefined;
  const states = about.map(({ state }) => state);
  return {
    class: 'told_nobody',
    eventId: item.event_id,
    leadRef: item.lead_ref,
    organization: item.organization,
    evidence: { outcome: item.state, resolved_at: item.finished_at ?? '', notifications: states },
    repair: 'tell',
    atMs: Date.parse(item.submitted_at),
  };
}
