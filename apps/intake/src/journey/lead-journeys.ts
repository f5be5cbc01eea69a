import type { Codec } from '#messaging';
import type { Database, Hmacs, SourceConfig } from '#runtime';
import { DatabaseUnavailable, StatementFailed, toDatabaseError } from '#runtime';
import { DeliveryRow } from '../entities/delivery.entity.js';
import { IntakeKeyRow } from '../entities/intake-key.entity.js';
import { Lead } from '../entities/lead.entity.js';
import { Rejected } from '../entities/rejected.entity.js';
import { externalRef } from '../prepare-lead.js';
import { submissionRef } from '../submission-ref.js';
import type { Journey, JourneyNotification, JourneyRefusal } from './journey.js';
import type { LiveStates, OwnerAnswer } from './live-states.js';
import { mergeDeliveries } from './merge-deliveries.js';
import { lastTold, rememberTold } from './told.js';

/** Refusals of one submission that are told, the newest first. */
const mostRefusals = 20;

interface Tools {
  db: Database;
  hmacs: Hmacs;
  codec: Pick<Codec, 'decode'>;
  live: LiveStates;
}

/** Where a lead is, for the source that handed it in. Another source's lead does not exist for it. */
export class LeadJourneys {
  constructor(private readonly tools: Tools) {}

  /** By our event id, or by the id of a refusal. Undefined: the source has neither. Throws DatabaseUnavailable. */
  byEventId(source: SourceConfig, eventId: string): Promise<Journey | undefined> {
    return reduced(async () => {
      const owner = { organization: source.organization, source: source.id };
      const lead = await this.tools.db.dataSource.manager.findOneBy(Lead, { eventId, ...owner });
      if (lead) return this.ofLead(lead);
      const refusal = await this.tools.db.dataSource.manager.findOneBy(Rejected, { rejectedId: eventId, ...owner });
      return refusal ? ofRefusals([refusal]) : undefined;
    });
  }

  /** By the source's own id. Throws DatabaseUnavailable. */
  bySourceEventId(source: SourceConfig, sourceEventId: string): Promise<Journey | undefined> {
    return reduced(async () => {
      const { manager } = this.tools.db.dataSource;
      const owner = { organization: source.organization, source: source.id };
      const key = { ...owner, externalRef: externalRef(this.tools.hmacs, owner, sourceEventId) };
      const refused = await this.refusedUnder(key);
      const stored = await manager.findOneBy(IntakeKeyRow, key);
      const lead = stored && (await manager.findOneBy(Lead, { eventId: stored.eventId }));
      if (lead) return this.ofLead(lead, refused);
      return refused.length > 0 ? ofRefusals(refused) : undefined;
    });
  }

  private refusedUnder(key: { organization: string; source: string; externalRef: string }): Promise<Rejected[]> {
    return this.tools.db.dataSource.manager.find(Rejected, { where: key, order: { rejectedAt: 'desc' }, take: mostRefusals });
  }

  /** Under the id that the lead came with, which its event alone knows. */
  private async refusedBeside({ organization, source, event }: Lead): Promise<Rejected[]> {
    const ref = await submissionRef(this.tools.codec, event);
    return ref === undefined ? [] : this.refusedUnder({ organization, source, externalRef: ref });
  }

  private async ofLead(lead: Lead, found?: Rejected[]): Promise<Journey> {
    const { db, live } = this.tools;
    const { eventId } = lead;
    const [refused, known, written, told] = await Promise.all([
      found ?? this.refusedBeside(lead),
      db.dataSource.manager.find(DeliveryRow, { where: { eventId }, order: { destination: 'asc' } }),
      live.of('crm-writer', eventId),
      live.of('notifier', eventId),
    ]);
    return {
      event_id: eventId,
      lead_ref: lead.leadRef,
      status: 'accepted',
      submitted_at: lead.submittedAt.toISOString(),
      accepted_at: lead.acceptedAt.toISOString(),
      deliveries: mergeDeliveries(known, written?.deliveries),
      notifications: await this.notifications(eventId, told),
      refusals: refused.map(toRefusal),
      unreachable: [...(written ? [] : ['crm-writer']), ...(told ? [] : ['notifier'])],
    };
  }

  /** As the notifier says now, else as it said last. */
  private async notifications(eventId: string, told: OwnerAnswer | undefined): Promise<JourneyNotification[]> {
    const { db } = this.tools;
    if (told === undefined) return lastTold(db, eventId);
    const heard = told.notifications ?? [];
    // The answer does not wait for it, nor fail with it: what is lost is the memory of one answer.
    rememberTold(db, eventId, heard).catch(() => undefined);
    return heard.map(({ channel, template, state }) => ({ channel, template, state }));
  }
}

function ofRefusals(refused: Rejected[]): Journey {
  return {
    event_id: refused[0]?.rejectedId ?? '',
    lead_ref: null,
    status: 'rejected',
    submitted_at: null,
    accepted_at: null,
    deliveries: [],
    notifications: [],
    refusals: refused.map(toRefusal),
    unreachable: [],
  };
}

function toRefusal(row: Rejected): JourneyRefusal {
  return { class: row.class, code: row.code, rejected_at: row.rejectedAt.toISOString(), errors: row.errors };
}

/** TypeORM's errors carry the query's parameters; ours do not. */
async function reduced<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (error instanceof DatabaseUnavailable || error instanceof StatementFailed) throw error;
    throw toDatabaseError((error as { driverError?: unknown }).driverError ?? error);
  }
}
