import type { LeadResolved } from '#contracts';
import type { Logger } from '#runtime';

interface NotTold {
  destination: string;
  channel?: string;
  reason: string;
  traceId?: string;
}

/** Says of a resolved lead that nobody is told, and why. */
export function logNotTold(logger: Logger, event: LeadResolved, { destination, channel, reason, traceId }: NotTold): void {
  const { event_id, lead_ref, outcome, test } = event;
  const lead = { event_id, lead_ref, destination, outcome, test };
  logger.unit({ unit: 'notification', ...lead, channel, decision: 'not_told', reason, trace_id: traceId });
}
