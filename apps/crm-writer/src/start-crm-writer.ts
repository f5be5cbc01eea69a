import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { dlqTopic, groups, type LeadAccepted, LeadAcceptedEvent, replayTopic, retryTiers, retryTopic, topics } from '#contracts';
import {
  CallTimes,
  type Contacts,
  createContacts,
  createDestinationControl,
  createUpkeep,
  DeliveryEngine,
  type DestinationControl,
  knownStates,
  Lateness,
  openReplays,
  type ReplayGate,
  type StoredDelivery,
  type SweptTarget,
  serveDeliveries,
  settleContactOf,
  type Upkeep,
  type Vault,
  type VerifiedTarget,
  vaultClient,
} from '#delivery';
import { type Connector, createConnector, ownersOf } from '#destinations';
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
import { destinationPolicy } from './destination-policy.js';
import { DestinationTarget, mayBeFor } from './destination-target.js';
import { Engines } from './engines.js';
import type { crmWriterEnv } from './env.js';
import { servedDestinations } from './served-destinations.js';
import { openStorage, type Storage } from './storage.js';
import { lookupsAtOnce, orphanedRows, sweptDestination, verifiedDestination } from './swept-destinations.js';
import { UnclaimedLeads } from './unclaimed/unclaimed-leads.js';

type Context = ServiceContext<typeof crmWriterEnv>;

/** Longest time of one batched vault read. */
const vaultTimeoutMs = 3_000;
/** What is in hand then is finished by the engines; its records come again and meet rows that have ended. */
const stopGraceMs = 3_000;

interface Parts {
  storage: Storage;
  relay: Relay;
  vault: Vault;
  contacts: Contacts;
  replays?: ReplayGate;
  strategy: MessagingStrategy;
  lateness: Lateness;
}

/** One destination of this process. */
interface Served {
  config: DestinationConfig;
  connector: Connector;
  target: DestinationTarget;
  control: DestinationControl;
}

/** Starts crm-writer: storage, relay, internal API, one engine and one consumer group per destination, and what keeps its rows moving. */
export async function startCrmWriter(context: Context): Promise<Stoppable[]> {
  const { env, site, logger } = context;
  const configs = servedDestinations(site, env.LD_DESTINATIONS);
  const tokens = loadInternalTokens(env.LD_SECRETS_DIR);
  const token = tokens['crm-writer'] ?? '';
  const keyed = hmacs(loadHmacSecret(env.LD_SECRETS_DIR));
  const vault = internalClient({ baseUrl: intakeUrl(env), token, timeoutMs: vaultTimeoutMs });
  const replays = openReplays({ operatorUrl: env.INTERNAL_URLS.operator, token, secretsDir: env.LD_SECRETS_DIR, logger });
  const kafka = createKafka({ ...kafkaSettings(env), clientId: 'crm-writer', logger });
  const storage = await openStorage(env);
  const { db } = storage;
  const relay = createRelay({ db, kafka, logger, pollMs: env.RELAY_POLL_MS });
  const callTimes = new CallTimes({ db, logger });
  const served = configs.map((config) => serve(context, config, { storage, keyed, callTimes, relay }));
  const known = knownStates(new Map(served.map(({ config, control }) => [config.name, control])));

  const strategy = messagingStrategy(context, { kafka, storage, served: configs });
  const relayWake = (): void => relay.wake();
  const contacts = createContacts({ db, logger, wakeTopic, relayWake });
  const lateness = new Lateness();
  const parts = { storage, relay, vault: vaultClient(vault), contacts, replays: replays.gate, strategy, lateness };
  const engines = createEngines(context, served, parts);
  const app = await NestFactory.createMicroservice(crmWriterModule(engines), { strategy, logger: false, abortOnError: false });
  const door = kafkaDoor(context, { kafka, served: configs, begin: () => app.listen() });
  const server = await startInternalServer({
    host: env.INTERNAL_HOST,
    port: env.INTERNAL_PORT,
    tokens,
    readiness: [databaseReadiness(db), relay.readiness, known.readiness, door.readiness, ...strategy.readiness],
    logger,
  });
  const swept = sweptTargets(site, storage);
  const onChange = settleContactOf(contacts);
  const verified = verifiedTargets(served, swept);
  const byName = { target: (name: string) => swept.get(name), verified: (name: string) => verified.get(name) };
  const decode = (event: Buffer) => storage.codec.decode(LeadAcceptedEvent, event);
  const unclaimed = new UnclaimedLeads({ ...storage, kafka, destinations: Object.keys(site.destinations), logger });
  serveDeliveries(server, { db, ...byName, onChange, relayWake, decode, unclaimed: unclaimed.read, telemetry: context.telemetry, logger });
  const upkeep = keepRowsMoving(context, { storage, served, ...byName, relayWake, onChange, callTimes, lateness });
  await Promise.all(served.map(({ control }) => control.start()));
  await relay.start();
  upkeep.start();
  void door.open();
  return [
    { name: 'database', stop: () => db.close() },
    { name: 'kafka', stop: () => kafka.close() },
    { name: 'relay', stop: () => relay.stop() },
    { name: 'internal', stop: () => server.stop() },
    { name: 'clients', stop: async () => void (await Promise.all([vault.close(), replays.close()])) },
    { name: 'connectors', stop: async () => void (await Promise.all(served.map(({ connector }) => connector.close()))) },
    { name: 'destinations', stop: async () => void (await Promise.all(served.map(({ control }) => control.stop()))) },
    { name: 'destination states', stop: () => known.stop() },
    { name: 'contacts', stop: async () => contacts.stop() },
    { name: 'upkeep', stop: () => upkeep.stop() },
    { name: 'engines', stop: () => engines.stop() },
    { name: 'consumers', stop: () => closeConsumers(app, door) },
  ];
}

const wakeTopic = (destination: string): string => retryTopic(topics.leadAccepted, groups.crmWriter(destination), '15s');

function kafkaDoor(
  { site, logger }: Context,
  { kafka, served, begin }: { kafka: KafkaPort; served: readonly DestinationConfig[]; begin: () => Promise<unknown> },
): KafkaDoor {
  return new KafkaDoor({
    kafka,
    destinations: Object.keys(site.destinations),
    groups: served.map(({ name }) => groups.crmWriter(name)),
    produces: [topics.leadResolved, ...served.map(({ name }) => dlqTopic(topics.leadAccepted, groups.crmWriter(name)))],
    begin,
    logger,
  });
}

/** Stops fetching and waits for what the engines hold. */
async function closeConsumers(app: Pick<INestApplicationContext, 'close'>, door: KafkaDoor): Promise<void> {
  door.stop();
  await app.close();
}

function serve(
  { env, site, logger }: Context,
  config: DestinationConfig,
  { storage, keyed, callTimes, relay }: { storage: Storage; keyed: ReturnType<typeof hmacs>; callTimes: CallTimes; relay: Relay },
): Served {
  const onTime = callTimes.of(config.name);
  const secretsDir = env.LD_SECRETS_DIR;
  const connector = createConnector({ name: config.name, config, secretsDir, hmacs: keyed, ownerOf: ownersOf(site), onTime });
  const target = new DestinationTarget({ config, policies: site.policies, connector, codec: storage.codec });
  const control = createDestinationControl({
    db: storage.db,
    destination: config.name,
    policy: destinationPolicy(config),
    check: target.check,
    logger,
    notifications: relay.notifications,
  });
  return { config, connector, target, control };
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

function createEngines({ env, logger, telemetry }: Context, served: readonly Served[], parts: Parts): Engines {
  const { storage, relay, strategy, vault, contacts, replays, lateness } = parts;
  const engineOf = ({ config, target, control }: Served): [string, DeliveryEngine<LeadAccepted>] => {
    const group = groups.crmWriter(config.name);
    const engine = new DeliveryEngine<LeadAccepted>({
      db: storage.db,
      target,
      destination: control,
      vault,
      contacts,
      replays,
      group,
      control: () => strategy.consumer(group),
      dlqTopic: dlqTopic(topics.leadAccepted, group),
      wakeTopic: (tier) => retryTopic(topics.leadAccepted, group, tier),
      relayWake: () => relay.wake(),
      lateness,
      telemetry,
      logger,
      leaseMs: env.LEASE_MS,
    });
    return [group, engine];
  };
  return new Engines(new Map(served.map(engineOf)));
}

/** Every destination of the site file, also those that another process serves. */
function sweptTargets(site: Context['site'], { codec }: Storage): ReadonlyMap<string, SweptTarget> {
  return new Map(Object.values(site.destinations).map((config) => [config.name, sweptDestination(config, { site, codec })]));
}

/** Those that this process can ask itself what they hold. */
function verifiedTargets(served: readonly Served[], swept: ReadonlyMap<string, SweptTarget>): ReadonlyMap<string, VerifiedTarget> {
  return new Map(
    served.flatMap(({ config, target, control }) => {
      const rows = swept.get(config.name);
      const limits = { lookupTimeoutMs: config.lookupTimeoutMs, lookups: control.lookups, lookupsAtOnce: lookupsAtOnce(config) };
      return rows === undefined ? [] : [[config.name, verifiedDestination(rows, target, limits)] as const];
    }),
  );
}

interface Rows {
  storage: Storage;
  served: readonly Served[];
  target: (name: string) => SweptTarget | undefined;
  verified: (name: string) => VerifiedTarget | undefined;
  relayWake: () => void;
  onChange: (after: StoredDelivery) => void;
  callTimes: CallTimes;
  lateness: Lateness;
}

function keepRowsMoving({ env, site, logger, telemetry }: Context, { storage, served, ...rows }: Rows): Upkeep {
  return createUpkeep({
    db: storage.db,
    ...rows,
    served: served.map(({ config }) => config.name),
    orphaned: (stored) => orphanedRows(stored, { site, codec: storage.codec }),
    telemetry,
    logger,
    sweepMs: env.SWEEP_MS,
    longestLookupMs: Math.max(0, ...served.map(({ config }) => config.lookupTimeoutMs)),
  });
}
