import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Connections, type InfraPart, type Program, registryUrl, runPaths, startEmbedded } from '#testkit';
import type { Ports } from './ports.js';

export interface InfrastructureOptions {
  root: string;
  runDir: string;
  ports: Ports;
  progress(line: string): void;
  run(program: Program): Promise<void>;
  runOnce(program: Program): Promise<void>;
  signal: AbortSignal;
  /** Told as soon as the database can be used, while other parts may still start. */
  onDatabase(databaseUrl: string): void;
  /** Told before containers are made, so that they are found again whatever happens. */
  onCompose(project: string): void;
}

/** What the environment names: a part of the infrastructure that already runs somewhere. */
const externals: Record<InfraPart, { variable: string; key: keyof Connections }> = {
  kafka: { variable: 'KAFKA_BROKERS', key: 'kafkaBrokers' },
  registry: { variable: 'SCHEMA_REGISTRY_URL', key: 'schemaRegistry' },
  postgres: { variable: 'DATABASE_URL', key: 'databaseUrl' },
};

/**
 * Connections to Kafka, the registry and PostgreSQL. Each part that its variable names is used as it is; the others are started by a Docker
 * engine where there is one, else on this machine. Throws when a part does not become ready.
 */
export async function infrastructure(options: InfrastructureOptions): Promise<Connections> {
  const { given, missing } = fromEnvironment();
  if (missing.size === 0) options.progress('Using the Kafka, registry and PostgreSQL named by the environment');
  if (given.databaseUrl !== undefined) options.onDatabase(given.databaseUrl);
  const started = missing.size === 0 ? {} : await start(missing, given, options);
  return { ...started, ...given } as Connections;
}

function fromEnvironment(): { given: Partial<Connections>; missing: Set<InfraPart> } {
  const given: Partial<Connections> = {};
  const missing = new Set<InfraPart>();
  for (const [part, { variable, key }] of Object.entries(externals) as [InfraPart, (typeof externals)[InfraPart]][]) {
    const value = process.env[variable]?.trim();
    if (value) given[key] = key === 'schemaRegistry' ? value.replace(/\/+$/, '') : value;
    else missing.add(part);
  }
  return { given, missing };
}

/** The ports that `infrastructure` will use, by what for: those of the parts that the environment does not name. */
export function infrastructurePorts(ports: Ports): Record<string, number> {
  const { missing: parts } = fromEnvironment();
  return {
    ...(parts.has('kafka') ? { Kafka: ports.kafka, 'Kafka controller': ports.kafkaController } : {}),
    ...(parts.has('registry') ? { 'schema registry': ports.registry } : {}),
    ...(parts.has('postgres') ? { PostgreSQL: ports.postgres } : {}),
  };
}

async function start(
  parts: ReadonlySet<InfraPart>,
  given: Partial<Connections>,
  options: InfrastructureOptions,
): Promise<Partial<Connections>> {
  // The compose file ties its registry to its own database, so it serves all three parts or none.
  if (parts.size === 3 && dockerUsable(options.root)) return startCompose(options);
  const { runDir, ports, progress, run, runOnce, signal } = options;
  const onDatabase = parts.has('postgres') ? options.onDatabase : undefined;
  progress(`Starting ${[...parts].join(', ')} on this machine`);
  const { data: dir, logs: logDir } = runPaths(runDir);
  const { databaseUrl } = given;
  return startEmbedded(parts, {
    dir,
    logDir,
    ports,
    progress,
    run,
    runOnce,
    signal,
    ...(onDatabase === undefined ? {} : { onDatabase }),
    sharedBuffersMb: 16,
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
  });
}

/** One look for it, in plain JavaScript, because the check of prerequisites runs before anything is built. */
const dockerUsable = (root: string): boolean =>
  spawnSync(process.execPath, [join(root, 'scripts', 'docker-usable.mjs')], { env: process.env }).status === 0;

async function startCompose({ root, runDir, ports, progress, onCompose, onDatabase }: InfrastructureOptions): Promise<Connections> {
  const project = `lead-delivery-${createHash('sha256').update(runDir).digest('hex').slice(0, 8)}`;
  onCompose(project);
  progress('Starting Kafka, registry and PostgreSQL with Docker (the first time it pulls their images)');
  const password = 'lead-delivery';
  const env = {
    ...process.env,
    KAFKA_PORT: String(ports.kafka),
    REGISTRY_PORT: String(ports.registry),
    POSTGRES_PORT: String(ports.postgres),
    POSTGRES_PASSWORD: password,
  };
  await compose(['--project-name', project, 'up', '--detach', '--wait', 'postgres', 'kafka', 'registry'], root, env).catch(
    (error: Error & { stderr?: string }) => {
      throw new Error(`Docker could not start the infrastructure (LD_INFRA=embedded goes without it): ${error.stderr || error.message}`);
    },
  );
  const databaseUrl = `postgresql://postgres:${password}@127.0.0.1:${ports.postgres}/leads`;
  onDatabase(databaseUrl);
  return { kafkaBrokers: `127.0.0.1:${ports.kafka}`, schemaRegistry: registryUrl(ports.registry), databaseUrl };
}

/** Stops the containers of an instance; with `forget` their data goes too. */
export async function stopCompose(root: string, project: string, { forget }: { forget: boolean }): Promise<void> {
  await compose(['--project-name', project, 'down', ...(forget ? ['--volumes'] : [])], root);
}

async function compose(args: string[], root: string, env = process.env): Promise<void> {
  await promisify(execFile)('docker', ['compose', '--file', join(root, 'docker-compose.yml'), ...args], { env, cwd: root });
}
