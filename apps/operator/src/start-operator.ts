import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type EventDescriptor, groups } from '#contracts';
import { loadPermitPrivateKey } from '#delivery';
import { createKafka, createRelay, KafkaDoor, type KafkaPort, kafkaSettings, MessagingStrategy, type Relay } from '#messaging';
import {
  ConfigError,
  databaseReadiness,
  type InternalClient,
  internalClient,
  loadInternalTokens,
  onScrape,
  type ServiceContext,
  type Stoppable,
  startInternalServer,
} from '#runtime';
import type { Area } from './area.js';
import { openAreas } from './areas.js';
import { auditRefusals } from './audit/audit-refusals.js';
import { halted } from './batches/count-halted.js';
import { depth } from './dead-letters/count-letters.js';
import { DeadLetterInbox } from './dead-letters/dead-letter-inbox.js';
import { DeliveryCheck, type DeliveryCheckOptions } from './dead-letters/delivery-check.js';
import { LetterFollower } from './dead-letters/follow-letters.js';
import { deadLetterSources } from './dead-letters/sources.js';
import type { operatorEnv } from './env.js';
import { overdueTasks } from './erasures/count-overdue.js';
import { type Figures, publish } from './figures.js';
import { Follower } from './follower.js';
import type { Identify } from './http/asked-by.js';
import { createApp } from './http/create-app.js';
import { notFound, type OwnerApi, ownerApi } from './owners/owner-api.js';
import { identifier } from './people/identify.js';
import { oidcVerifier } from './people/oidc.js';
import { signInWith } from './people/oidc-discovery.js';
import { loadOperatorTokens } from './people/operator-tokens.js';
import { purge } from './purge.js';
import { openStorage, type Storage } from './storage.js';

type Context = ServiceContext<typeof operatorEnv>;

/** Services that keep deliveries with their attempts. */
const owning = ['crm-writer', 'notifier'] as const;
const ownerTimeoutMs = 5_000;
const group = groups.operatorDlq;

/**
 * Starts operator: storage, relay, internal API, REST door, the consumer of every dead-letter topic, the follower.
 * @param patience with dead letters that are under way; default: the usual.
 */
export async function startOperator(context: Context, patience: Pick<DeliveryCheckOptions, 'lateAfterMs'> = {}): Promise<Stoppable[]> {
  const { env, site, logger } = context;
  const privateKey = loadPermitPrivateKey(env.LD_SECRETS_DIR);
  const identify = whoAsks(context);
  const signIn = signInWith({ oidc: site.operator.oidc, logger });
  const tokens = loadInternalTokens(env.LD_SECRETS_DIR);
  const clients = internalClients(env.INTERNAL_URLS, tokens.operator ?? '');
  const owners: ReadonlyMap<string, OwnerApi> = new Map(owning.map((name) => [name, ownerApi(clients.get(name) ?? notFound(name))]));
  const sources = deadLetterSources(Object.keys(site.destinations));
  const kafka = createKafka({ ...kafkaSettings(env), clientId: 'operator', logger });
  const storage = await openStorage(env);
  const { db } = storage;
  const relay = createRelay({ db, kafka, logger, pollMs: env.RELAY_POLL_MS });

  const strategy = messagingStrategy(context, kafka, [...sources.keys()]);
  const inbox = new DeadLetterInbox({ ...storage, sources, owners, site, control: () => strategy.consumer(group), logger });
  const areas = await openAreas({
    env,
    site,
    ...storage,
    owners,
    clients,
    privateKey,
    signIn,
    relayWake: () => relay.wake(),
    notifications: relay.notifications,
    logger,
  });
  const app = await createApp({ inbox, areas }, { identify, onRefused: auditRefusals(db), logger, signIn });
  app.connectMicroservice({ strategy }, { inheritAppConfig: false });
  const produces = [...sources.values()].flatMap(({ replayTopic }) => replayTopic ?? []);
  const destinations = Object.keys(site.destinations);
  const door = new KafkaDoor({ kafka, destinations, groups: [group], produces, logger, begin: () => app.startAllMicroservices() });
  const server = await startInternalServer({
    host: env.INTERNAL_HOST,
    port: env.INTERNAL_PORT,
    tokens,
    readiness: [databaseReadiness(db), relay.readiness, door.readiness, ...strategy.readiness],
    logger,
  });
  for (const area of areas) area.serve?.(server);
  const stopCounting = [depth, halted, overdueTasks].map((figures: Figures<never>) => onScrape(publish(figures, db, logger)));
  const follower = createFollower(context, { storage, owners, areas, intake: clients.get('intake'), patience });
  await startAll({ relay, follower, app, door, areas }, context);
  return [
    { name: 'database', stop: () => db.close() },
    { name: 'kafka', stop: () => kafka.close() },
    { name: 'relay', stop: () => relay.stop() },
    { name: 'internal', stop: () => server.stop() },
    { name: 'depth', stop: () => stopCounting.forEach((stop) => void stop()) },
    { name: 'internal clients', stop: async () => void (await Promise.all([...clients.values()].map((client) => client.close()))) },
    { name: 'follower', stop: () => follower.stop() },
    ...areas.map(({ stop }, index) => ({ name: `area ${index}`, stop: () => stop?.() })),
    { name: 'inbox', stop: () => inbox.stop() },
    { name: 'doors', stop: () => closeDoors(app, door) },
  ];
}

interface Started {
  relay: Relay;
  follower: Follower;
  app: NestFastifyApplication;
  door: KafkaDoor;
  areas: readonly Area[];
}

async function startAll({ relay, follower, app, door, areas }: Started, { env }: Context): Promise<void> {
  await relay.start();
  for (const area of areas) await area.start?.();
  follower.start();
  await app.listen({ host: env.HTTP_HOST, port: env.HTTP_PORT });
  void door.open();
}

/** Stops taking requests and records; what is being stored is finished by the inbox. */
async function closeDoors(app: NestFastifyApplication, door: KafkaDoor): Promise<void> {
  door.stop();
  await app.close();
}

/** One client per service. Throws ConfigError where one that owns deliveries is not named. */
function internalClients(urls: Readonly<Record<string, string>>, token: string): Map<string, InternalClient> {
  const missing = owning.filter((name) => urls[name] === undefined);
  if (missing.length > 0) {
    const fix = 'Add its internal base URL: the history of what failed is fetched there';
    throw new ConfigError(missing.map((name) => ({ path: 'INTERNAL_URLS', problem: `does not name ${name}`, fix })));
  }
  return new Map(Object.entries(urls).map(([name, baseUrl]) => [name, internalClient({ baseUrl, token, timeoutMs: ownerTimeoutMs })]));
}

function whoAsks({ env, site, logger }: Context): Identify {
  const { oidc } = site.operator;
  return identifier({
    tokens: loadOperatorTokens(env.LD_SECRETS_DIR),
    verify: oidc && oidcVerifier({ oidc, logger }),
  });
}

/** Records as they are: what one of them carries depends on its topic, and some carry nothing that can be read. */
const asBytes = { decode: (_event: unknown, bytes: Buffer | null) => bytes as never };
const anyRecord: EventDescriptor<Buffer | null> = {
  name: 'dead letter',
  topic: group,
  subject: group,
  schemaVersion: 0,
  schema: '"bytes"',
};
/** Each is kept until its owner has answered. */
const maxUnsettled = 500;

function messagingStrategy({ env, logger }: Context, kafka: KafkaPort, topics: readonly string[]): MessagingStrategy {
  return new MessagingStrategy({
    kafka,
    codec: asBytes,
    sessionTimeoutMs: env.KAFKA_SESSION_TIMEOUT_MS,
    subscriptions: [{ group, pattern: group, topics, event: anyRecord, maxUnsettled }],
    logger,
  });
}

interface Followed {
  storage: Storage;
  owners: ReadonlyMap<string, OwnerApi>;
  areas: readonly Area[];
  intake: InternalClient | undefined;
  patience: Pick<DeliveryCheckOptions, 'lateAfterMs'>;
}

function createFollower({ env, site, logger }: Context, { storage, owners, areas, intake, patience }: Followed): Follower {
  const { db } = storage;
  // Intake has what never came to an owner.
  const all = new Map([...owners, ...(intake === undefined ? [] : [['intake', ownerApi(intake)] as const])]);
  const check = new DeliveryCheck({ ...storage, ...patience, site, owners: all, logger });
  const letters = new LetterFollower({ db, owners: all, logger });
  return new Follower({
    everyMs: env.FOLLOW_MS,
    logger,
    steps: {
      letters: () => letters.run(),
      check: () => check.run(),
      ...Object.assign({}, ...areas.map(({ steps }) => steps)),
      purge: () => purge(db),
    },
  });
}
