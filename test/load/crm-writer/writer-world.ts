import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { groups, headers, type LeadAccepted, LeadAcceptedEvent, topics, topology } from '#contracts';
import { type AdminPort, applySchemas, applyTopics, type Codec, createCodec, createKafka, type KafkaPort } from '#messaging';
import { createLogger, migrateService, newEventId, newLeadRef } from '#runtime';
import { eventually, startTestInfra, type TestDatabase, testDatabase, uniqueName } from '#testkit';
import { migrations } from '../../../apps/crm-writer/src/migrations/index.js';
import { type BuiltPeer, SpringPeer } from './spring-peer.js';
import type { Command, Ports, Report } from './stand-ins.js';
import { type WriterPlace, WriterProcess } from './writer-process.js';

const here = import.meta.dirname;
const root = process.cwd();

export interface WorldOptions {
  operations: readonly string[];
  concurrency: number;
  /** More lines of the destination in the site file, in YAML's flow style. */
  settings?: readonly string[];
}

interface WorldParts {
  destination: string;
  kafka: KafkaPort;
  admin: AdminPort;
  owner: pg.Client;
  codec: Codec;
  standIns: ChildProcess;
  ports: Ports;
  concurrency: number;
  place: WriterPlace;
  writer: WriterProcess;
  database: TestDatabase;
}

/** A real crm-writer process with one destination, on the shared infrastructure, between a stand-in CRM and a stand-in vault. */
export class WriterWorld {
  readonly destination: string;
  readonly kafka: KafkaPort;
  readonly writer: WriterProcess;
  readonly databaseUrl: string;

  private constructor(private readonly parts: WorldParts) {
    const { destination, kafka, writer, database } = parts;
    [this.destination, this.kafka, this.writer, this.databaseUrl] = [destination, kafka, writer, database.url];
  }

  static async start({ operations, concurrency, settings = [] }: WorldOptions): Promise<WriterWorld> {
    const infra = await startTestInfra({ progress: (line) => console.error(line) });
    const logger = createLogger('crm-writer-bench', 'warn');
    const kafka = createKafka({ brokers: infra.kafkaBrokers.split(','), clientId: 'bench', logger });
    const admin = await kafka.admin();
    const destination = uniqueName('bench-crm');
    await applyTopics({ admin, destinations: [destination], replication: 1 });
    await skipOldRecords(admin, groups.crmWriter(destination));
    const database = await testDatabase('crm_writer_bench');
    await migrateService({ url: database.url, service: 'crm-writer', migrations });
    const databases = [{ url: database.url, schema: 'crm_writer' }];
    const known = await applySchemas({ registryUrl: infra.schemaRegistry, dir: join(root, 'schemas'), databases });
    const owner = new pg.Client({ connectionString: database.url });
    await owner.connect();
    const standIns = fork(join(here, 'stand-ins.js'), { execArgv: [] });
    const [ports] = (await once(standIns, 'message')) as [Ports];
    const folder = mkdtempSync(join(tmpdir(), 'crm-writer-bench-'));
    writeSite(folder, { destination, operations, concurrency, settings, port: ports.crm });
    const place = { folder, databaseUrl: database.url, brokers: infra.kafkaBrokers, vaultPort: ports.vault };
    const writer = await WriterProcess.start(place);
    const codec = createCodec({ known });
    return new WriterWorld({ destination, kafka, admin, owner, codec, standIns, ports, concurrency, place, writer, database });
  }

  /** A second process of crm-writer beside the first, with the same groups and tables; to be stopped before the world is closed. */
  async join(): Promise<WriterProcess> {
    const second = await WriterProcess.start(this.parts.place);
    await second.ready();
    return second;
  }

  /** The service to compare with, built already, paused, between the same stand-ins; to be stopped before the world is closed. */
  async joinPeer(built: BuiltPeer): Promise<SpringPeer> {
    const { admin, destination, place, ports, concurrency } = this.parts;
    const group = `spring-peer.${destination}`;
    await skipOldRecords(admin, group);
    return SpringPeer.start(built, { place, destination, group, concurrency, crmUrl: `http://127.0.0.1:${ports.crm}/leads` });
  }

  send(command: Command): void {
    this.parts.standIns.send(command);
  }

  async report(): Promise<Report> {
    this.send({ kind: 'report' });
    const [report] = (await once(this.parts.standIns, 'message')) as [Report];
    return report;
  }

  /** Puts accepted leads on the topic; the vault is closed meanwhile, so that none is delivered before all are there. */
  async produce(count: number, mark = ''): Promise<void> {
    const producer = await this.kafka.producer();
    for (let from = 0; from < count; from += 2_000) {
      const size = Math.min(2_000, count - from);
      await producer.send(Array.from({ length: size }, () => this.record(mark)));
    }
    await producer.close();
  }

  /** Waits until this many deliveries are delivered, all are announced on Kafka and the offsets are committed. */
  async drained(delivered: number, timeoutMs = 300_000): Promise<void> {
    const rows = async (text: string): Promise<number> => Number((await this.parts.owner.query<{ n: string }>(text)).rows[0]?.n);
    const done = async () =>
      (await rows('SELECT count(*) AS n FROM (SELECT FROM crm_writer.outbox LIMIT 1) AS o')) === 0 &&
      (await rows(`SELECT count(*) AS n FROM crm_writer.delivery WHERE state = 'delivered'`)) === delivered;
    await eventually('every lead to be delivered and announced', done, { timeoutMs });
  }

  /** Waits until the peer has recorded this many leads as delivered, with their announcements. */
  async peerDrained(delivered: number): Promise<void> {
    const done = async (): Promise<boolean> => {
      const [row] = await this.sql<{ n: string }>('SELECT count(*) AS n FROM spring_peer.outbox');
      return Number(row?.n) === delivered;
    };
    await eventually('the peer to have delivered every lead', done, { timeoutMs: 300_000 });
  }

  /** Leads that crm-writer has taken on, in whatever state. */
  async taken(): Promise<number> {
    const [row] = await this.sql<{ n: string }>('SELECT count(*) AS n FROM crm_writer.delivery');
    return Number(row?.n);
  }

  /** Waits until the CRM was called this often since the last `reset`, nothing is under way any more and everything is announced. */
  async quiet(requests: number, timeoutMs = 300_000): Promise<void> {
    const open = `SELECT FROM crm_writer.delivery WHERE state IN ('in_flight', 'pending', 'waiting') LIMIT 1`;
    const none = async (text: string): Promise<boolean> => (await this.sql(text)).length === 0;
    const done = async (): Promise<boolean> =>
      (await this.report()).requests >= requests && (await none(open)) && (await none('SELECT FROM crm_writer.outbox LIMIT 1'));
    await eventually('every lead to have come to its end', done, { timeoutMs });
  }

  /** As the owner of the writer's database. */
  async sql<R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
    return (await this.parts.owner.query<R>(text, values)).rows;
  }

  async close(): Promise<void> {
    await this.writer.stop();
    this.parts.standIns.kill();
    const { groups: specs, topics: all } = topology([this.destination]);
    const own = all.filter(({ name }) => name.includes(this.destination)).map(({ name }) => name);
    if (specs.length > 0) await this.parts.admin.deleteTopics(own);
    await this.parts.admin.close();
    await this.kafka.close();
    await this.parts.owner.end();
    await this.parts.database.drop();
    rmSync(this.parts.place.folder, { recursive: true, force: true });
  }

  private record(mark: string) {
    const event = leadAccepted(this.destination, mark);
    return {
      topic: topics.leadAccepted,
      key: Buffer.from(randomBytes(16).toString('hex')),
      value: this.parts.codec.encode(LeadAcceptedEvent, event),
      headers: {
        [headers.eventId]: event.event_id,
        [headers.destinations]: this.destination,
        [headers.traceparent]: `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`,
      },
    };
  }
}

/** The main topic is shared with other tests; this group begins at its end. */
async function skipOldRecords(admin: AdminPort, group: string): Promise<void> {
  const ends = await admin.topicOffsets(topics.leadAccepted);
  await admin.setGroupOffsets(
    group,
    ends.map(({ partition, high }) => ({ topic: topics.leadAccepted, partition, offset: high })),
  );
}

function leadAccepted(destination: string, mark: string): LeadAccepted {
  const now = new Date();
  return {
    event_id: newEventId(),
    event_type: 'lead.accepted',
    version: 1,
    lead_ref: `L-${mark}${newLeadRef().slice(2 + mark.length)}`,
    organization: 'demo',
    source: 'website',
    source_event_ref: randomUUID().replaceAll('-', ''),
    form: 'contact',
    campaign: 'autumn',
    submitted_at: now,
    accepted_at: now,
    deadline_at: new Date(now.getTime() + 4 * 3_600_000),
    policy: 'default',
    payload_hmac: `v1:${randomBytes(32).toString('hex')}`,
    consent: true,
    test: false,
    destinations: [destination],
  };
}

function writeSite(
  folder: string,
  { destination, operations, concurrency, settings = [], port }: WorldOptions & { destination: string; port: number },
): void {
  const secrets = join(folder, 'secrets');
  mkdirSync(secrets);
  writeFileSync(join(secrets, 'hmac.key'), randomBytes(32).toString('base64'));
  writeFileSync(join(secrets, 'internal-tokens.json'), JSON.stringify({ 'crm-writer': randomUUID() }));
  writeFileSync(join(secrets, 'crm-secret'), `whsec_${randomBytes(32).toString('base64')}`);
  writeFileSync(
    join(folder, 'site.yaml'),
    `sources: [{ id: website, organization: demo, country: US }]
routing: [{ match: {}, destinations: [${destination}], policy: default }]
destinations:
  ${destination}:
    connector: webhook
    sandbox: true
    operations: [${operations.join(', ')}]
    base_url: http://127.0.0.1:${port}
    secret: { file: crm-secret }
    native_idempotency: true
    concurrency: ${concurrency}
${settings.map((line) => `    ${line}\n`).join('')}policies: { default: { attempts: 4, deadline: 4h, max_age: 7d } }
`,
  );
}
