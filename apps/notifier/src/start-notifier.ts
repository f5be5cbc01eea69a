import type { INestMicroservice } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { dlqTopic, groups, type LeadResolved, LeadResolvedEvent, replayTopic, retryTiers, retryTopic, topics } from '#contracts';
import { DeliveryEngine, Sweeper, statesRequest, statesRoute } from '#delivery';
import { createKafka, createRelay, KafkaDoor, type KafkaPort, kafkaSettings, MessagingStrategy, type Relay } from '#messaging';
import {
  databaseReadiness,
  hmacs,
  loadHmacSecret,
  loadInternalTokens,
  type ServiceContext,
  type Stoppable,
  startInternalServer,
} from '#runtime';
import type { notifierEnv } from './env.js';
import { withNotifications } from './notification-states.js';
import { notifierModule } from './notifier.module.js';
import { countNotification, NotifierTarget } from './notifier-target.js';
import { type OpenChannel, openChannels } from './open-channels.js';
import { Silence } from './silence.js';
import { openStorage, type Storage } from './storage.js';
import { parseNotificationName } from './telling/notification-key.js';

type Context = ServiceContext<typeof notifierEnv>;

const group = groups.notifier;

/** Starts notifier: storage, relay, internal API, the engine behind its consumer group, the sweeper. */
export async function startNotifier(context: Context): Promise<Stoppable[]> {
  const { env, site, logger } = context;
  const secretsDir = env.LD_SECRETS_DIR;
  const channels = openChannels(site, { secretsDir, hmacs: hmacs(loadHmacSecret(secretsDir)) });
  const tokens = loadInternalTokens(secretsDir);
  const kafka = createKafka({ ...kafkaSettings(env), clientId: 'notifier', logger });
  const storage = await openStorage(env);
  const { db } = storage;
  const relay = createRelay({ db, kafka, logger, pollMs: env.RELAY_POLL_MS });

  const strategy = messagingStrategy(context, kafka, storage);
  const engine = createEngine(context, { storage, relay, channels, strategy });
  const module = notifierModule(engine, new Silence({ site, channels, logger }));
  const app = await NestFactory.createMicroservice(module, { strategy, logger: false, abortOnError: false });
  const door = new KafkaDoor({ kafka, destinations: Object.keys(site.destinations), groups: [group], begin: () => app.listen(), logger });
  const server = await startInternalServer({
    host: env.INTERNAL_HOST,
    port: env.INTERNAL_PORT,
    tokens,
    readiness: [databaseReadiness(db), relay.readiness, door.readiness, ...strategy.readiness],
    logger,
  });
  const states = statesRoute(db);
  server.route('/internal/v1/deliveries:state', { callers: ['intake', 'reconciler', 'operator'], body: statesRequest }, async (body) =>
    withNotifications(await states(body)),
  );
  const sweeper = createSweeper(context, storage, relay);
  await relay.start();
  sweeper.start();
  void door.open();
  return [
    { name: 'database', stop: () => db.close() },
    { name: 'kafka', stop: () => kafka.close() },
    { name: 'relay', stop: () => relay.stop() },
    { name: 'internal', stop: () => server.stop() },
    { name: 'channels', stop: async () => void (await Promise.all([...channels.values()].map((channel) => channel.close()))) },
    { name: 'sweeper', stop: () => sweeper.stop() },
    { name: 'engine', stop: () => engine.stop() },
    { name: 'consumer', stop: () => closeConsumer(app, door) },
  ];
}

/** Stops fetching and waits for what the engine holds. */
async function closeConsumer(app: INestMicroservice, door: KafkaDoor): Promise<void> {
  door.stop();
  await app.close();
}

function messagingStrategy({ env, logger }: Context, kafka: KafkaPort, { codec }: Storage): MessagingStrategy {
  return new MessagingStrategy({
    kafka,
    codec,
    sessionTimeoutMs: env.KAFKA_SESSION_TIMEOUT_MS,
    subscriptions: [
      {
        group,
        pattern: topics.leadResolved,
        topics: [topics.leadResolved, replayTopic(topics.leadResolved, group)],
        tierTopics: retryTiers.map((tier) => retryTopic(topics.leadResolved, group, tier)),
        event: LeadResolvedEvent,
      },
    ],
    logger,
  });
}

interface EngineParts {
  storage: Storage;
  relay: Relay;
  channels: ReadonlyMap<string, OpenChannel>;
  strategy: MessagingStrategy;
}

function createEngine({ env, site, logger, telemetry }: Context, parts: EngineParts): DeliveryEngine<LeadResolved> {
  const { storage, relay, channels, strategy } = parts;
  return new DeliveryEngine<LeadResolved>({
    db: storage.db,
    target: new NotifierTarget({ site, channels, leaseMs: env.LEASE_MS }),
    group,
    control: () => strategy.consumer(group),
    dlqTopic: dlqTopic(topics.leadResolved, group),
    relayWake: () => relay.wake(),
    telemetry,
    logger,
    leaseMs: env.LEASE_MS,
  });
}

function createSweeper({ env, logger }: Context, { db }: Storage, relay: Relay): Sweeper {
  const swept = { name: 'notifier', nativeIdempotency: false, wakeTopic: retryTopic(topics.leadResolved, group, '15s') };
  return new Sweeper({
    db,
    target: (name) => (parseNotificationName(name) === undefined ? undefined : swept),
    onLeaseExpired: ({ destination, state }) => {
      if (state === 'uncertain') countNotification(destination, 'uncertain');
    },
    relayWake: () => relay.wake(),
    logger,
    everyMs: env.SWEEP_MS,
  });
}
