import { Kafka, logLevel } from 'kafkajs';
import pg from 'pg';
import type { Endpoints } from '#testkit';

/** Work that a process had begun and not finished, read from outside at the moment it was killed. */
export interface OpenWork {
  /** Operations claimed and not recorded. */
  readonly claimed: number;
  /** Of those, event ids of lead operations: the CRM may have committed them already. */
  readonly claimedLeads: readonly string[];
  readonly unpublished: number;
  readonly uncommitted: number;
}

const schemaOf: Record<string, string> = { intake: 'intake', 'crm-writer': 'crm_writer', notifier: 'notifier' };
const groupsOf: Record<string, { group: string; topics: string[] }[]> = {
  intake: [
    { group: 'intake', topics: ['leads'] },
    { group: 'intake.states', topics: ['lead.resolved'] },
  ],
  'crm-writer': [
    { group: 'crm-writer.sandbox-crm', topics: ['lead.accepted'] },
    { group: 'crm-writer.sandbox-marketing', topics: ['lead.accepted'] },
  ],
  notifier: [{ group: 'notifier', topics: ['lead.resolved'] }],
};

/** Reads open work of one service from its tables and its committed offsets. Connections are kept open between readings, so that a reading takes milliseconds. */
export class OpenWorkReader {
  private readonly pool: pg.Pool;
  private readonly admin;

  constructor(endpoints: Endpoints) {
    this.pool = new pg.Pool({ connectionString: endpoints.databaseUrl, max: 3 });
    this.pool.on('error', () => undefined);
    this.admin = new Kafka({ brokers: endpoints.kafkaBrokers.split(','), clientId: 'open-work', logLevel: logLevel.NOTHING }).admin();
  }

  async connect(): Promise<void> {
    await this.admin.connect();
  }

  async read(app: string): Promise<OpenWork> {
    const [tables, uncommitted] = await Promise.all([this.tables(app), this.lag(app)]);
    return { ...tables, uncommitted };
  }

  /** Sum of end offset minus committed offset over the service's groups. */
  async lag(app: string): Promise<number> {
    let total = 0n;
    for (const { group, topics } of groupsOf[app] ?? []) {
      const committed = await this.admin.fetchOffsets({ groupId: group, topics });
      for (const { topic, partitions } of committed) {
        const ends = new Map((await this.admin.fetchTopicOffsets(topic)).map(({ partition, high }) => [partition, BigInt(high)]));
        for (const { partition, offset } of partitions) {
          const from = BigInt(offset) < 0n ? 0n : BigInt(offset);
          total += (ends.get(partition) ?? 0n) - from;
        }
      }
    }
    return Number(total);
  }

  async close(): Promise<void> {
    await this.admin.disconnect();
    await this.pool.end();
  }

  private async tables(app: string): Promise<Omit<OpenWork, 'uncommitted'>> {
    const schema = schemaOf[app] ?? app;
    const outbox = await this.pool.query<{ count: string }>(`select count(*) as count from ${schema}.outbox`);
    const unpublished = Number(outbox.rows[0]?.count ?? 0);
    if (schema === 'intake') return { claimed: 0, claimedLeads: [], unpublished };
    const claimed = await this.pool.query<{ event_id: string; kind: string }>(
      `select event_id::text as event_id, kind from ${schema}.operation where state = 'in_flight'`,
    );
    const claimedLeads = claimed.rows.filter(({ kind }) => kind === 'lead').map(({ event_id }) => event_id);
    return { claimed: claimed.rows.length, claimedLeads, unpublished };
  }
}
