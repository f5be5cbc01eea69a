import { In } from 'typeorm';
import { type Coalescer, coalesce, type Database } from '#runtime';
import { DeliveryRow } from '../entities/delivery.entity.js';
import { Lead } from '../entities/lead.entity.js';
import type { Rejected } from '../entities/rejected.entity.js';
import { type HeardNotification, lastTold, rememberTold } from './told.js';

/** A lead with the deliveries that intake knows of it, in the order of their destinations. */
export interface StoredLead {
  lead: Lead;
  deliveries: DeliveryRow[];
}

/** What a submission stands under at its source. */
export interface SubmissionKey {
  organization: string;
  source: string;
  externalRef: string;
}

/** As much of a refusal as is told. */
export type StoredRefusal = Pick<Rejected, 'rejectedId' | 'class' | 'code' | 'errors' | 'rejectedAt'>;

/** Refusals of one submission that are told, the newest first. */
const mostRefusals = 20;

const refusalsSql = `
select asked.position::int, r.rejected_id as "rejectedId", r.class, r.code, r.errors, r.rejected_at as "rejectedAt"
from unnest($1::text[], $2::text[], $3::text[]) with ordinality as asked(organization, source, external_ref, position)
cross join lateral (
  select * from rejected where organization = asked.organization and source = asked.source and external_ref = asked.external_ref
  order by rejected_at desc limit ${mostRefusals}
) r order by asked.position, r.rejected_at desc`;

/**
 * What intake has of leads, for whoever asks where they are. However many ask at once, each of these takes one connection: what is asked meanwhile
 * is read together, with the next statement. All throw DatabaseUnavailable, or what TypeORM throws.
 */
export class StoredLeads {
  /** By event id; undefined where there is no such lead. */
  readonly lead: Coalescer<string, StoredLead | undefined>;
  /** Refusals under these keys, the newest first. */
  readonly refusals: Coalescer<SubmissionKey, StoredRefusal[]>;
  /** What the notifier said last of a lead. */
  readonly told: Coalescer<string, HeardNotification[]>;
  /** Keeps what it says now, one lead after another. Rejects with CoalescerFull where too many wait. */
  readonly remember: Coalescer<{ eventId: string; heard: readonly HeardNotification[] }, void>;

  constructor(private readonly db: Database) {
    const together = { maxBatch: 200, maxWaitMs: 0, maxInFlight: 1 };
    this.lead = coalesce<string, StoredLead | undefined>({ ...together, run: (eventIds) => this.readLeads(eventIds) });
    this.refusals = coalesce<SubmissionKey, StoredRefusal[]>({ ...together, run: (keys) => this.readRefusals(keys) });
    this.told = coalesce<string, HeardNotification[]>({ ...together, run: (eventIds) => lastTold(db, eventIds) });
    this.remember = coalesce<{ eventId: string; heard: readonly HeardNotification[] }, void>({
      ...together,
      maxBatch: 1,
      maxQueued: 500,
      run: async (all) => {
        for (const { eventId, heard } of all) await rememberTold(db, eventId, heard);
        return all.map(() => undefined);
      },
    });
  }

  private async readLeads(eventIds: string[]): Promise<(StoredLead | undefined)[]> {
    const { manager } = this.db.dataSource;
    const found = await manager.findBy(Lead, { eventId: In(eventIds) });
    const byId = new Map(found.map((lead): [string, StoredLead] => [lead.eventId, { lead, deliveries: [] }]));
    const rows =
      byId.size === 0 ? [] : await manager.find(DeliveryRow, { where: { eventId: In([...byId.keys()]) }, order: { destination: 'asc' } });
    for (const row of rows) byId.get(row.eventId)?.deliveries.push(row);
    return eventIds.map((eventId) => byId.get(eventId.toLowerCase()));
  }

  private async readRefusals(keys: SubmissionKey[]): Promise<StoredRefusal[][]> {
    const rows = await this.db.sql<StoredRefusal & { position: number }>('intake.refusals_of', refusalsSql, [
      keys.map(({ organization }) => organization),
      keys.map(({ source }) => source),
      keys.map(({ externalRef: ref }) => ref),
    ]);
    const byKey = keys.map((): StoredRefusal[] => []);
    for (const { position, ...refusal } of rows) byKey[position - 1]?.push(refusal);
    return byKey;
  }
}
