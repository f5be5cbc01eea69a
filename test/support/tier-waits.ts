import { type Admin, Kafka, logLevel } from 'kafkajs';
import pg from 'pg';
import { groups, headers, type RetryTier, retryTiers, retryTopic, topics } from '#contracts';
import type { Endpoints } from '#testkit';
import { readTopic } from './topics.js';

/** What a destination's leads waited for, and when their calls were made. */
export interface Waits {
  /** Records on its tiers. */
  records: number;
  /** The same by tier; a tier without any is absent. */
  tiers: Partial<Record<RetryTier, number>>;
  /** Waits that had more than one record. */
  again: number;
  /** Start of each further attempt minus the `ld-not-before` of its wait, ascending, in ms. */
  latenessMs: number[];
}

const tierTopic = (destination: string, tier: RetryTier): string => retryTopic(topics.leadAccepted, groups.crmWriter(destination), tier);

/** Reads the tiers of destinations, and the rows of what waits there, from outside. */
export class TierWaits {
  private readonly pool: pg.Pool;

  constructor(private readonly endpoints: Endpoints) {
    this.pool = new pg.Pool({ connectionString: endpoints.databaseUrl, max: 2 });
    this.pool.on('error', () => undefined);
  }

  /** Deliveries of the destination by state. */
  async states(destination: string): Promise<Record<string, number>> {
    const text = 'select state, count(*)::int as count from crm_writer.delivery where destination = $1 group by state';
    const { rows } = await this.pool.query<{ state: string; count: number }>(text, [destination]);
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
  }

  /** Calls that were refused, of all leads of the destination. */
  async refused(destination: string): Promise<number> {
    const text = `select count(*)::int as count from crm_writer.attempt a join crm_writer.operation o using (operation_key)
                  where o.destination = $1 and a.outcome = 'transient'`;
    const { rows } = await this.pool.query<{ count: number }>(text, [destination]);
    return rows[0]?.count ?? 0;
  }

  async of(destination: string): Promise<Waits> {
    const { rows } = await this.pool.query<{ event_id: string; starts: number[] }>(
      `select o.event_id::text, array_agg(extract(epoch from a.started_at)::float8 * 1000 order by a.started_at) as starts
       from crm_writer.attempt a join crm_writer.operation o using (operation_key)
       where o.destination = $1 and not a.late group by o.event_id`,
      [destination],
    );
    const { waits, tiers } = await this.notBefore(destination);
    const records = Object.values(tiers).reduce((sum, count) => sum + count, 0);
    const latenessMs = rows.flatMap(({ event_id, starts }) => {
      const due = [...(waits.get(event_id) ?? [])].sort((a, b) => a - b);
      return due.map((ms, at) => Math.floor((starts[at + 1] ?? Number.NaN) - ms));
    });
    const distinct = [...waits.values()].reduce((sum, due) => sum + due.size, 0);
    return { records, tiers, again: records - distinct, latenessMs: latenessMs.sort((a, b) => a - b) };
  }

  /** Nothing but its tiers will bring a lead of the destination again: no row on its way there, no record that a restart reads anew. */
  async areAlone(destination: string): Promise<boolean> {
    const { rows } = await this.pool.query('select from crm_writer.outbox limit 1');
    if (rows.length > 0) return false;
    return this.asAdmin(async (admin) => {
      const ends = new Map((await admin.fetchTopicOffsets(topics.leadAccepted)).map(({ partition, high }) => [partition, high]));
      const [committed] = await admin.fetchOffsets({ groupId: groups.crmWriter(destination), topics: [topics.leadAccepted] });
      return committed?.partitions.every(({ partition, offset }) => Number(offset) >= Number(ends.get(partition))) ?? false;
    });
  }

  /** Deletes every record of the destination's tiers; how many there were. */
  empty(destination: string): Promise<number> {
    return this.asAdmin(async (admin) => {
      let deleted = 0;
      for (const topic of retryTiers.map((tier) => tierTopic(destination, tier))) {
        const filled = (await admin.fetchTopicOffsets(topic)).filter(({ high, low }) => Number(high) > Number(low));
        if (filled.length === 0) continue;
        await admin.deleteTopicRecords({ topic, partitions: filled.map(({ partition, high }) => ({ partition, offset: high })) });
        for (const { high, low } of filled) deleted += Number(high) - Number(low);
      }
      return deleted;
    });
  }

  close(): Promise<void> {
    return this.pool.end();
  }

  private async asAdmin<T>(ask: (admin: Admin) => Promise<T>): Promise<T> {
    const { kafkaBrokers } = this.endpoints;
    const admin = new Kafka({ brokers: kafkaBrokers.split(','), clientId: 'tier-waits', logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    return ask(admin).finally(() => admin.disconnect());
  }

  private async notBefore(destination: string): Promise<{ waits: Map<string, Set<number>>; tiers: Waits['tiers'] }> {
    const tierOf = new Map(retryTiers.map((tier) => [tierTopic(destination, tier), tier]));
    const waits = new Map<string, Set<number>>();
    const tiers: Waits['tiers'] = {};
    for await (const record of readTopic(this.endpoints.kafkaBrokers, (topic) => tierOf.has(topic))) {
      const tier = tierOf.get(record.topic);
      if (tier !== undefined) tiers[tier] = (tiers[tier] ?? 0) + 1;
      const eventId = String(record.headers[headers.eventId]);
      waits.set(eventId, (waits.get(eventId) ?? new Set()).add(Number(String(record.headers[headers.notBefore]))));
    }
    return { waits, tiers };
  }
}
