import pg from 'pg';
import type { CrashPoint } from '#runtime';
import type { Endpoints } from '#testkit';
import type { Door } from './crash-site.js';
import { eventually } from './eventually.js';
import { toldLeads } from './ledger.js';
import { Sandbox } from './sandbox.js';

interface DeliveryRow {
  event_id: string;
  state: string;
}

interface Shown {
  eventIds: readonly string[];
  /** Whose process stands there. */
  app: 'crm-writer' | 'notifier';
  door: Door;
  state?: string;
}

/** What a lead is like in the tables while its process stands at the point. */
const stateAt: Record<CrashPoint, string> = {
  claimed: 'in_flight',
  contact_taken: 'in_flight',
  marked: 'in_flight',
  sent: 'in_flight',
  answered: 'in_flight',
  part_recorded: 'in_flight',
  recorded: 'delivered',
  published: 'delivered',
  deleted: 'delivered',
  settled: 'delivered',
  committed: 'delivered',
  swept: 'pending',
  looked_up: 'uncertain',
  verified: 'delivered',
  replay_claimed: 'in_flight',
};
/** Points at which the CRM has the lead, or the chat the message, and nobody has recorded it. */
const hasArrived: readonly CrashPoint[] = ['sent', 'answered', 'looked_up'];
/** A request that has left is there within this time, or it had not left. */
const arriveLimitMs = 3_000;

/** Reads from outside, tables and CRM, what there is to a lead. */
export class CrashEvidence {
  private readonly pool: pg.Pool;

  constructor(private readonly endpoints: Endpoints) {
    this.pool = new pg.Pool({ connectionString: endpoints.databaseUrl, max: 2 });
    this.pool.on('error', () => undefined);
  }

  /** True when one of the leads is as the process that stands at the point must have left it; `state`: where that is not what it usually is. */
  async shows(point: CrashPoint, { eventIds, app, door, state = stateAt[point] }: Shown): Promise<boolean> {
    const schema = app === 'notifier' ? 'notifier' : 'crm_writer';
    const { rows } = await this.pool.query<DeliveryRow>(
      `select event_id::text, state from ${schema}.delivery where event_id = any($1::uuid[]) and state = $2`,
      [eventIds, state],
    );
    if (rows.length === 0 || !hasArrived.includes(point)) return rows.length > 0;
    return eventually(async () => {
      const there = app === 'notifier' ? await this.messages() : await this.records(door);
      if (!rows.some(({ event_id }) => there.has(event_id))) throw new Error('not there');
      return true;
    }, arriveLimitMs).catch(() => false);
  }

  /** Messages of the chat per event id. */
  async messages(): Promise<Map<string, number>> {
    return (await toldLeads(this.endpoints, new Sandbox(this.endpoints))).told;
  }

  /** Leads that intake has stored. */
  async accepted(): Promise<number> {
    const { rows } = await this.pool.query<{ count: string }>('select count(*) from intake.lead');
    return Number(rows[0]?.count);
  }

  /** Rows that wait to be published. */
  async unpublished(schema: 'intake' | 'crm_writer'): Promise<number> {
    const { rows } = await this.pool.query<{ count: string }>(`select count(*) from ${schema}.outbox`);
    return Number(rows[0]?.count);
  }

  /** Records of the CRM per event id. */
  async records(door: Door): Promise<Map<string, number>> {
    const answer = await fetch(`${crmUrl(this.endpoints, door)}/data`);
    const { leads } = (await answer.json()) as { leads: { external_id: string }[] };
    const counts = new Map<string, number>();
    for (const { external_id } of leads) counts.set(external_id, (counts.get(external_id) ?? 0) + 1);
    return counts;
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}

export const crmUrl = ({ sandboxCrm }: Endpoints, door: Door): string => (door === 'native' ? sandboxCrm : `${sandboxCrm}-plain`);
