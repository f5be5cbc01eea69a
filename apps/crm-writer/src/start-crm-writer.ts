import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { dlqTopic, groups, type LeadAccepted, LeadAcceptedEvent, replayTopic, retryTiers, retryTopic, topics } from '#contracts';
import { DeliveryEngine, Sweeper, statesRequest, statesRoute, type Vault, vaultClient } from '#delivery';
import { type Connector, createConnector } from '#destinations';
import {
  createKafka,
  createRelay,
  KafkaDoor,
  type KafkaPort,
  kafkaSettings,
  MessagingStrategy,
  type Relay,
  type Subscription,
} from '#messaging';
import {
  ConfigError,
  type DestinationConfig,
  databaseReadiness,
  hmacs,
  internalClient,
  loadHmacSecret,
  loadInternalTokens,
  type ServiceContext,
  type Stoppable,
  startInternalServer,
} from '#runtime';
import { crmWriterModule } from './crm-writer.module.js';
import { DestinationTarget, mayBeFor } from './destination-target.js';
import { Engines } from './engines.js';
import type { crmWriterEnv } from './env.js';
import { servedDestinations } from './served-destinations.js';
import { openStorage, type Storage } from './storage.js';

type Context = ServiceContext<typeof crmWriterEnv>;

/** Longest time of one batched vault read. */
const vaultTimeoutMs = 3_000;
/** What is in hand then is finished by the engines; its records come again and meet rows that have ended. */
const stopGraceMs = 3_000;

interface Parts {
  storage: Storage;
  kafka: KafkaPort;
  relay: Relay;
  vault: Vault;
  connectors: ReadonlyMap<string, Connector>;
}

/** Starts crm-writer: storage, relay, internal API, one engine and one consumer group per destination, the sweeper. */
export async function startCrmWriter(context: Context): Promise<Stoppable[]> {
  const { env, site, logger } = context;
  const served = servedDestinations(site, { names: env.LD_DESTINATIONS, leaseMs: env.LEASE_MS });
  const tokens = loadInternalTokens(env.LD_SECRETS_DIR);
  const connectors = connectAll(served, env.LD_SECRETS_DIR);
  const kafka = createKafka({ ...kafkaSettings(env), clientId: 'crm-writer', logger });
  const storage = await openStorage(env);
  const { db } = storage;
  const relay = createRelay({ db, kafka, logger, pollMs: env.RELAY_POLL_MS });
  const vault = internalClient({ baseUrl: intakeUrl(env), token: tokens['crm-writer'] ?? '', timeoutMs: vaultTimeoutMs });

  const strategy = messagingStrategy(context, { kafka, storage, served });
  const engines = createEngines(context, served, { storage, kafka, relay, vault: vaultClient(vault), connectors, strategy });
  const app = await NestFactory.createMicroservice(crmWriterModule(engines), { strategy, logger: false, abortOnError: false });
  const door = new KafkaDoor({
    kafka,
    destinations: Object.keys(site.destinations),
    groups: served.map(({ name }) => groups.crmWriter(name)),
    produces: [topics.leadResolved],
    begin: () => app.listen(),
    logger,
  });
  const server = await startInternalServer({
    host: env.INTERNAL_HOST,
    port: env.INTERNAL_PORT,
    tokens,
    readiness: [databaseReadiness(db), relay.readiness, door.readiness, ...strategy.readiness],
    logger,
  });
  server.route('/internal/v1/deliveries:state', { callers: ['intake', 'reconciler', 'operator'], body: statesRequest }, statesRoute(db));
  const sweeper = createSweeper(context, storage, relay);
  await relay.start();
  sweeper.start();
  void door.open();
  return [
    { name: 'database', stop: () => db.close() },
    { name: 'kafka', stop: () => kafka.close() },
    { name: 'relay', stop: () => relay.stop() },
    { name: 'internal', stop: () => server.stop() },
    { name: 'vault client', stop: () => vault.close() },
    { name: 'connectors', stop: async () => void (await Promise.all([...connectors.values()].map((connector) => connector.close()))) },
    { name: 'sweeper', stop: () => sweeper.stop() },
    { name: 'engines', stop: () => engines.stop() },
    { name: 'consumers', stop: () => closeConsumers(app, door) },
  ];
}

/** Stops fetching and waits for what the engines hold. */
async function closeConsumers(app: Pick<INestApplicationContext, 'close'>, door: KafkaDoor): Promise<void> {
  door.stop();
  await app.close();
}

function connectAll(served: readonly DestinationConfig[], secretsDir: string): Map<string, Connector> {
  const keyed = hmacs(loadHmacSecret(secretsDir));
  return new Map(served.map((config) => [config.name, createConnector({ name: config.name, config, secretsDir, hmacs: keyed })]));
}

function intakeUrl(env: Context['env']): string {
  const url = env.INTERNAL_URLS.intake;
  if (url !== undefined) return url;
  throw new ConfigError([
    { path: 'INTERNAL_URLS', problem: 'does not name intake', fix: 'Add its internal base URL: the vault is read there' },
  ]);
}

function messagingStrategy(
  { env, logger }: Context,
  { kafka, storage, served }: { kafka: KafkaPort; storage: Storage; served: readonly DestinationConfig[] },
): MessagingStrategy {
  return new MessagingStrategy({
    kafka,
    codec: storage.codec,
    sessionTimeoutMs: env.KAFKA_SESSION_TIMEOUT_MS,
    stopGraceMs,
    subscriptions: served.map(({ name }) => subscription(name)),
    logger,
  });
}

function subscription(destination: string): Subscription {
  const group = groups.crmWriter(destination);
  return {
    group,
    pattern: topics.leadAccepted,
    topics: [topics.leadAccepted, replayTopic(topics.leadAccepted, group)],
    tierTopics: retryTiers.map((tier) => retryTopic(topics.leadAccepted, group, tier)),
    event: LeadAcceptedEvent,
    wants: (record) => mayBeFor(destination, record),
  };
}

function createEngines(
  { env, logger, telemetry }: Context,
  served: readonly DestinationConfig[],
  { storage, relay, vault, connectors, strategy }: Parts & { strategy: MessagingStrategy },
): Engines {
  const byGroup = new Map<string, DeliveryEngine<LeadAccepted>>();
  for (const config of served) {
    const connector = connectors.get(config.name);
    if (connector === undefined) continue;
    const group = groups.crmWriter(config.name);
    const engine = new DeliveryEngine<LeadAccepted>({
      db: storage.db,
      target: new DestinationTarget({ config, connector, codec: storage.codec }),
      vault,
      group,
      control: () => strategy.consumer(group),
      dlqTopic: dlqTopic(topics.leadAccepted, group),
      relayWake: () => relay.wake(),
      telemetry,
      logger,
      leaseMs: env.LEASE_MS,
    });
    byGroup.set(group, engine);
  }
  return new Engines(byGroup);
}

/** Sweeps for every destination of the site file, also those that another process serves. */
function createSweeper({ env, site, logger }: Context, { db }: Storage, relay: Relay): Sweeper {
  return new Sweeper({
    db,
    target: (destination) => {
      const config = site.destinations[destination];
      if (config === undefined) return undefined;
      const wakeTopic = retryTopic(topics.leadAccepted, groups.crmWriter(destination), '15s');
      return { name: config.name, nativeIdempotency: config.nativeIdempotency, wakeTopic };
    },
    relayWake: () => relay.wake(),
    logger,
    everyMs: env.SWEEP_MS,
  });
}
