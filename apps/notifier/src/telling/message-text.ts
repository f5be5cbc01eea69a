import type { LeadResolved } from '#contracts';

const titles: Readonly<Record<string, string>> = {
  lead_delivered: 'Lead delivered',
  lead_dead: 'Lead NOT delivered',
  lead_expired: 'Lead NOT delivered in time',
};

export interface MessageFacts {
  template: string;
  ownerName?: string;
  /** The lead belongs to nobody that exists. */
  unknownOwner?: boolean;
}

/**
 * The message: references and names from the configuration, nothing of the person. Plain text, one hashtag that names the template; the
 * values are slugs and configured names, so none of them can hold another.
 */
export function messageText(event: LeadResolved, { template, ownerName, unknownOwner }: MessageFacts): string {
  const reason = [event.error_class, event.error_code].filter((part) => part !== null).join(' / ');
  const facts: [string, string | null | undefined][] = [
    ['Form', event.form],
    ['Campaign', event.campaign],
    ['Source', event.source],
    ['Destination', event.destination],
    ['Reason', event.outcome === 'delivered' ? '' : reason],
    ['Owner', unknownOwner ? 'nobody (unknown_owner)' : ownerName],
  ];
  const lines = facts.flatMap(([name, value]) => (value ? [`${name}: ${value}`] : []));
  return [`${event.test ? 'TEST ' : ''}${titles[template] ?? template}: ${event.lead_ref}`, ...lines, `#${template}`].join('\n');
}
