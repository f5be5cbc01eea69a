import type { Line } from '../output.js';

/** What lies on the topic and nobody has taken up. */
export interface Unclaimed {
  count?: number;
  at_most?: boolean;
  unknown?: string;
}

/** A destination that nothing is sent to. */
export interface Blocked {
  destination: string;
  reason: string;
  hold?: { by: string; reason: string };
  unclaimed?: Unclaimed;
}

/** Destinations that nothing is sent to, in the first column: leads that came meanwhile are on the topic, in `list` as intake has them and in no group. */
export const blockedLines = (column: string, blocked: readonly Blocked[] = []): Line[] =>
  blocked.map(({ destination, reason, hold, unclaimed }) => {
    const why = hold === undefined ? `is not sent to (${reason})` : `is held by ${hold.by}: ${hold.reason}`;
    return { [column]: `${destination} ${why}; ${onTopic(unclaimed)}` };
  });

function onTopic(unclaimed: Unclaimed | undefined): string {
  // Of a channel nobody counts them.
  if (unclaimed === undefined) return 'what lies on its topic is not counted';
  const { count, at_most, unknown } = unclaimed;
  if (unknown !== undefined) return `how many leads lie on its topic is unknown (${unknown})`;
  if (count === 0) return 'nothing lies on its topic';
  const leads = count === 1 ? 'lead lies' : 'leads lie';
  return `${at_most === true ? 'at most ' : ''}${count} ${leads} on its topic, taken up by nobody`;
}
