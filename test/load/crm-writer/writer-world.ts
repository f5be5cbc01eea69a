import { type ChildProcess, fork, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { groups, headers, type LeadAccepted, LeadAcceptedEvent, topics, topology } from '#contracts';
import { type AdminPort, applySchemas, applyTopics, type Codec, createCodec, createKafka, type KafkaPort } from '#messaging';
import { createLogger, migrateService, newEventId, newLeadRef } from '#runtime';
import { eventually, startTestInfra, testDatabase, uniqueName } from '#testkit';
import { migrations } from '../../../apps/crm-writer/src/migrations/index.js';
import type { Command, Ports, Report } from './stand-ins.js';

const here = import.meta.dirname;
const root = process.cwd();

export interface WorldOptions {
  operations: readonly string[];
  concurrency: number;
  /** More lines of the destination in the site file, in YAML's flow style. */
  settings?: readonly string[];
}

/** A real crm-writer process with one destination, on the shared infrastructure, between a stand-in CRM and a stand-in vault. */
export class WriterWorld {
  private constructor(
    readonly destination: string,
    private readonly folder: string,
    readonly kafka: KafkaPort,
    private readonly admin: AdminPort,
    private readonly owner: pg.Client,
    private readonly codec: Codec,
    private readonly standIns: ChildProcess,
    private readonly writer: ChildProcess,
    private readonly dropDatabase: () => Promise<void>,
  ) {}

  static async start({ operations, concurrency, settings = [] }: WorldOptions): Promise<WriterWorld> {
    const infra = await startTestInfra({ progress: (line) => console.error(line) });
    const logger = createLogger('crm-writer-bench', 'warn');
    const kafka = createKafka({ brokers: infra.kafkaBrokers.split(','), clientId: 'bench', logger });
    const admin = await kafka.admin();
    const destination = uniqueName('bench-crm');
    await applyTopics({ admin, destinations: [destination], replication: 1 });
    await skipOldRecords(admin, destination);
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
    const internalPort = await freePort();
    const writer = startWriter(folder, { databaseUrl: database.url, brokers: infra.kafkaBrokers, vaultPort: ports.vault, internalPort });
    const codec = createCodec({ known });
    return new WriterWorld(destination, folder, kafka, admin, owner, codec, standIns, writer, () => database.drop());
  }

  send(command: Command): void {
    this.standIns.send(command);
  }

  async report(): Promise<Report> {
    this.send({ kind: 'report' });
    const [report] = (await once(this.standIns, 'message')) as [Report];
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

  /** CPU seconds of the writer so far, user and system. */
  cpuSeconds(): number {
    const fields = readFileSync(`/proc/${this.writer.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }

  /** Resident memory of the writer in MB. */
  residentMb(): number {
    const [, pages] = readFileSync(`/proc/${this.writer.pid}/statm`, 'utf8').split(' ');
    return (Number(pages) * 4_096) / 1_048_576;
  }

  /** Waits until this many deliveries are delivered, all are announced on Kafka and the offsets are committed. */
  async drained(delivered: number, timeoutMs = 300_000): Promise<void> {
    const rows = async (text: string): Promise<number> => Number((await this.owner.query<{ n: string }>(text)).rows[0]?.n);
    const done = async () =>
      (await rows('SELECT count(*) AS n FROM (SELECT FROM crm_writer.outbox LIMIT 1) AS o')) === 0 &&
      (await rows(`SELECT count(*) AS n FROM crm_writer.delivery WHERE state = 'delivered'`)) === delivered;
    await eventually('every lead to be delivered and announced', done, { timeoutMs });
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
    return (await this.owner.query<R>(text, values)).rows;
  }

  async close(): Promise<void> {
    this.writer.kill('SIGTERM');
    await once(this.writer, 'exit');
    this.standIns.kill();
    const { groups: specs, topics: all } = topology([this.destination]);
    const own = all.filter(({ name }) => name.includes(this.destination)).map(({ name }) => name);
    if (specs.length > 0) await this.admin.deleteTopics(own);
    await this.admin.close();
    await this.kafka.close();
    await this.owner.end();
    await this.dropDatabase();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private record(mark: string) {
    const event = leadAccepted(this.destination, mark);
    return {
      topic: topics.leadAccepted,
      key: Buffer.from(randomBytes(16).toString('hex')),
      value: this.codec.encode(LeadAcceptedEvent, event),
      headers: {
        [headers.eventId]: event.event_id,
        [headers.destinations]: this.destination,
        [headers.traceparent]: `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`,
      },
    };
  }
}

/** The main topic is shared with other tests; this group begins at its end. */
async function skipOldRecords(admin: AdminPort, destination: string): Promise<void> {
  const ends = await admin.topicOffsets(topics.leadAccepted);
  await admin.setGroupOffsets(
    groups.crmWriter(destination),
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

function startWriter(
  folder: string,
  { databaseUrl, brokers, vaultPort, internalPort }: { databaseUrl: string; brokers: string; vaultPort: number; internalPort: number },
): ChildProcess {
  const log = openSync(join(folder, 'writer.log'), 'a');
  const args = process.env.BENCH_PROFILE ? ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_PROFILE}`] : [];
  return spawn(process.execPath, [...args, join(root, 'dist', 'apps', 'crm-writer', 'src', 'main.js')], {
    stdio: ['ignore', log, 'inherit'],
    env: {
      ...process.env,
      LD_SITE_FILE: join(folder, 'site.yaml'),
      LD_SECRETS_DIR: join(folder, 'secrets'),
      DATABASE_URL: databaseUrl,
      KAFKA_BROKERS: brokers,
      INTERNAL_PORT: String(internalPort),
      INTERNAL_URLS: JSON.stringify({ intake: `http://127.0.0.1:${vaultPort}` }),
    },
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
