import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Program } from '../process/program.js';
import { type ClassArchives, classArchives } from './class-archives.js';
import { type EmbeddedJars, embeddedJars } from './downloads.js';
import { javaCommand } from './java.js';
import { prepareKafka } from './kafka.js';
import { ensureDatabase, postgresUrl, preparePostgres } from './postgres.js';
import { prepareRegistry, registryUrl } from './registry.js';

export type InfraPart = 'postgres' | 'kafka' | 'registry';

export interface EmbeddedOptions {
  /** Data of each part, and `secrets/postgres-password`. */
  dir: string;
  logDir: string;
  ports: { kafka: number; kafkaController: number; registry: number; postgres: number };
  /** PostgreSQL's page cache. Small for an instance beside people's other work, larger where speed is measured. */
  sharedBuffersMb: number;
  /** Database of the project on an external server, when PostgreSQL is not one of the parts started here. */
  databaseUrl?: string;
  progress(line: string): void;
  /** Told as soon as the database can be used, while other parts still start. */
  onDatabase?(databaseUrl: string): void;
  /** Starts the program, waits until it is ready, and keeps it as the caller sees fit. */
  run(program: Program): Promise<void>;
  /** Starts the program, waits until it is ready, and stops it. */
  runOnce(program: Program): Promise<void>;
  /** Ends downloads. */
  signal?: AbortSignal;
}

export interface Connections {
  kafkaBrokers: string;
  schemaRegistry: string;
  databaseUrl: string;
}

/** Starts the named parts of the infrastructure on this machine, and gives how to reach those. Order: PostgreSQL, then registry; Kafka beside them. */
export async function startEmbedded(parts: ReadonlySet<InfraPart>, options: EmbeddedOptions): Promise<Partial<Connections>> {
  const { ports } = options;
  // Downloads go on while PostgreSQL starts; a failure is met where they are needed.
  const jvmParts = parts.has('kafka') || parts.has('registry') ? prepareJvm(options) : undefined;
  jvmParts?.catch(() => undefined);
  const startKafka = async (): Promise<void> => {
    if (jvmParts === undefined || !parts.has('kafka')) return;
    const jvm = await jvmParts;
    const dir = join(options.dir, 'kafka');
    const logFile = join(options.logDir, 'kafka.log');
    await options.run(
      await prepareKafka({
        dir,
        logFile,
        java: jvm.java,
        classPath: jvm.jars.kafkaClassPath,
        jvmOptions: jvm.archives.kafka,
        port: ports.kafka,
        controllerPort: ports.kafkaController,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      }),
    );
  };
  const startDatabases = async (): Promise<string | undefined> => {
    const databaseUrl = parts.has('postgres') ? await startPostgres(options) : options.databaseUrl;
    if (databaseUrl !== undefined) options.onDatabase?.(databaseUrl);
    if (jvmParts === undefined || !parts.has('registry')) return databaseUrl;
    const jvm = await jvmParts;
    if (databaseUrl === undefined) throw new Error('the registry needs a database: set DATABASE_URL, or let PostgreSQL be started too');
    await options.run(
      prepareRegistry({
        dir: join(options.dir, 'registry'),
        logFile: join(options.logDir, 'registry.log'),
        port: ports.registry,
        databaseUrl: await ensureDatabase(databaseUrl, 'schema_registry'),
        java: jvm.java,
        jar: jvm.jars.registryJar,
        jvmOptions: jvm.archives.registry,
      }),
    );
    return databaseUrl;
  };
  const [databaseUrl] = await Promise.all([startDatabases(), startKafka()]);
  return {
    ...(parts.has('kafka') ? { kafkaBrokers: `127.0.0.1:${ports.kafka}` } : {}),
    ...(parts.has('registry') ? { schemaRegistry: registryUrl(ports.registry) } : {}),
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
  };
}

async function prepareJvm(options: EmbeddedOptions): Promise<{ java: string; jars: EmbeddedJars; archives: ClassArchives }> {
  const java = javaCommand();
  const jars = await embeddedJars(options.progress, options.signal);
  return { java, jars, archives: await classArchives({ ...options, java, jars }) };
}

async function startPostgres({ dir, logDir, ports, run, sharedBuffersMb }: EmbeddedOptions): Promise<string> {
  const password = storedPassword(join(dir, 'secrets'));
  const logFile = join(logDir, 'postgres.log');
  await run(await preparePostgres({ dir: join(dir, 'postgres'), port: ports.postgres, password, logFile, sharedBuffersMb }));
  return ensureDatabase(postgresUrl(ports.postgres, password, 'postgres'), 'leads');
}

function storedPassword(secretsDir: string): string {
  const file = join(secretsDir, 'postgres-password');
  if (!existsSync(file)) {
    mkdirSync(dirname(secretsDir), { recursive: true });
    mkdirSync(secretsDir, { recursive: true, mode: 0o700 });
    writeFileSync(file, randomBytes(18).toString('base64url'), { mode: 0o600 });
    chmodSync(file, 0o600);
  }
  return readFileSync(file, 'utf8').trim();
}
