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
 * Told-nobody where no message about the lead was sent or may have been sent; told-late where the first one came too long after the lead's end.
 * Pure. @param notifications what the notifier has of the event
 */
export function judgeTelling(item: WindowItem, notifications: readonly WindowItem[]): Finding | undefined {
  const about = notifications.filter(({ destination }) => parseNotificationName(destination)?.scope === 'lead');
  const told = about.filter(({ state }) => state === 'delivered' || state === 'uncertain');
  const resolved = { outcome: item.state, resolved_at: item.finished_at ?? '' };
  const finding = {
    eventId: item.event_id,
    leadRef: item.lead_ref,
    organization: item.organization,
    atMs: Date.parse(item.submitted_at),
  };
  if (told.length === 0) {
    const evidence = { ...resolved, notifications: about.map(({ state }) => state) };
    return { ...finding, class: 'told_nobody', evidence, repair: 'tell' };
  }
  const toldAtMs = firstToldAtMs(item, told);
  if (toldAtMs === undefined || toldAtMs <= Date.parse(item.finished_at ?? '') + tellWithinMs) return undefined;
  const evidence = { ...resolved, told_at: new Date(toldAtMs).toISOString() };
  return { ...finding, class: 'relationship', aspect: 'told_late', evidence };
}

/**
 * When somebody was first told of this outcome: that the lead was dead before says nothing of its delivery. Undefined where nobody can say: a
 * message that is uncertain may have arrived at once, and so may one of which only a later look or a person said that it did. Undefined, too,
 * where a person had it sent: whoever approved that knows how late it was.
 */
function firstToldAtMs({ state: outcome }: WindowItem, told: readonly WindowItem[]): number | undefined {
  const ofOutcome = told.filter(({ destination }) => parseNotificationName(destination)?.template === `lead_${outcome}`);
  const counted = ofOutcome.length === 0 ? told : ofOutcome;
  const times = counted.map(({ finished_at }) => Date.parse(finished_at ?? ''));
  return counted.every(isTimed) ? Math.min(...times) : undefined;
}

const isTimed = ({ state, finished_at, operations, repair_item }: WindowItem): boolean =>
  state === 'delivered' && finished_at !== undefined && repair_item === undefined && !operations.some(({ seen_there }) => seen_there);
