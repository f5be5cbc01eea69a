import type { Codec } from '#messaging';
import type { Database, Hmacs, SourceConfig } from '#runtime';
import { DatabaseUnavailable, StatementFailed, toDatabaseError } from '#runtime';
import { IntakeKeyRow } from '../entities/intake-key.entity.js';
import { Rejected } from '../entities/rejected.entity.js';
import { externalRef } from '../prepare-lead.js';
import { submissionRef } from '../submission-ref.js';
import type { Journey, JourneyNotification, JourneyRefusal } from './journey.js';
import type { LiveStates, OwnerAnswer } from './live-states.js';
import { mergeDeliveries } from './merge-deliveries.js';
import { type StoredLead, StoredLeads, type StoredRefusal } from './stored-leads.js';

interface Tools {
  db: Database;
  hmacs: Hmacs;
  codec: Pick<Codec, 'decode'>;
  live: LiveStates;
}

/** Where a lead is, for the source that handed it in. Another source's lead does not exist for it. */
export class LeadJourneys {
  private readonly stored: StoredLeads;

  constructor(private readonly tools: Tools) {
    this.stored = new StoredLeads(tools.db);
  }

  /** By our event id, or by the id of a refusal. Undefined: the source has neither. Throws DatabaseUnavailable. */
  byEventId(source: SourceConfig, eventId: string): Promise<Journey | undefined> {
    return reduced(async () => {
      const owner = { organization: source.organization, source: source.id };
      const stored = await this.stored.lead(eventId);
      if (stored && isOf(stored, owner)) return this.ofLead(stored);
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
      const refused = await this.stored.refusals(key);
      const known = await manager.findOneBy(IntakeKeyRow, key);
      const stored = known && (await this.stored.lead(known.eventId));
      if (stored) return this.ofLead(stored, refused);
      return refused.length > 0 ? ofRefusals(refused) : undefined;
    });
  }

  /** Under the id that the lead came with, which its event alone knows. */
  private async refusedBeside({ organization, source, event }: StoredLead['lead']): Promise<StoredRefusal[]> {
    const ref = await submissionRef(this.tools.codec, event);
    return ref === undefined ? [] : this.stored.refusals({ organization, source, externalRef: ref });
  }

  private async ofLead({ lead, deliveries }: StoredLead, found?: StoredRefusal[]): Promise<Journey> {
    const { live } = this.tools;
    const { eventId } = lead;
    const [refused, written, told] = await Promise.all([
      found ?? this.refusedBeside(lead),
      live.of('crm-writer', eventId),
      live.of('notifier', eventId),
    ]);
    return {
      event_id: eventId,
      lead_ref: lead.leadRef,
      status: 'accepted',
      submitted_at: lead.submittedAt.toISOString(),
      accepted_at: lead.acceptedAt.toISOString(),
      deliveries: mergeDeliveries(deliveries, written?.deliveries),
      notifications: await this.notifications(eventId, told),
      refusals: refused.map(toRefusal),
      unreachable: [...(written ? [] : ['crm-writer']), ...(told ? [] : ['notifier'])],
    };
  }

  /** As the notifier says now, else as it said last. */
  private async notifications(eventId: string, told: OwnerAnswer | undefined): Promise<JourneyNotification[]> {
    if (told === undefined) return this.stored.told(eventId);
    const heard = told.notifications ?? [];
    // The answer does not wait for it, nor fail with it: what is lost is the memory of one answer.
    if (heard.length > 0) this.stored.remember({ eventId, heard }).catch(() => undefined);
    return heard.map(({ channel, template, state }) => ({ channel, template, state }));
  }
}

const isOf = ({ lead }: StoredLead, { organization, source }: { organization: string; source: string }): boolean =>
  lead.organization === organization && lead.source === source;

function ofRefusals(refused: readonly StoredRefusal[]): Journey {
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

function toRefusal(row: StoredRefusal): JourneyRefusal {
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
