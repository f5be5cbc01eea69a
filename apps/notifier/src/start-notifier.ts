import type { INestMicroservice } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { groups, LeadResolvedEvent, replayTopic, retryTiers, topics } from '#contracts';
import { CallTimes, createUpkeep, Lateness, openReplays, serveDeliveries, statesRequest, statesRoute, type Upkeep } from '#delivery';
import { createKafka, createRelay, KafkaDoor, type KafkaPort, kafkaSettings, MessagingStrategy, type Relay } from '#messaging';
import {
  databaseReadiness,
  hmacs,
  type InternalServer,
  loadHmacSecret,
  loadInternalTokens,
  type ServiceContext,
  type Stoppable,
  startInternalServer,
} from '#runtime';
import type { notifierEnv } from './env.js';
import { withNotifications } from './notification-states.js';
import { notifierModule } from './notifier.module.js';
import { countNotification } from './notifier-target.js';
import { type OpenChannel, openChannels } from './open-channels.js';
import { notifierDlq, notifierWakeTopic, openDesks } from './open-desks.js';
import { purgeOwnerless } from './ownerless/ownerless-leads.js';
import { serveOwnerless } from './ownerless/ownerless-routes.js';
import { Silence } from './silence.js';
import { openStorage, type Storage } from './storage.js';
import { sweptNotification } from './swept-notification.js';
import { type Tempo, usualTempo } from './telling-limits.js';
import { timedChannels } from './timed-channels.js';

type Context = ServiceContext<typeof notifierEnv>;

const group = groups.notifier;

/** Starts notifier: storage, relay, internal API, one engine per channel behind its consumer group, sweeper and verifier. */
export async function startNotifier(context: Context, tempo: Tempo = usualTempo): Promise<Stoppable[]> {
  const { env, site, logger } = context;
  const secretsDir = env.LD_SECRETS_DIR;
  const channels = openChannels(site, { secretsDir, hmacs: hmacs(loadHmacSecret(secretsDir)) });
  const tokens = loadInternalTokens(secretsDir);
  const kafka = createKafka({ ...kafkaSettings(env), clientId: 'notifier', logger });
  const storage = await openStorage(env);
  const { db } = storage;
  const relay = createRelay({ db, kafka, logger, pollMs: env.RELAY_POLL_MS });
  const replays = openReplays({ operatorUrl: env.INTERNAL_URLS.operator, token: tokens.notifier ?? '', secretsDir, logger });

  const strategy = messagingStrategy(context, kafka, storage);
  const callTimes = new CallTimes({ db, logger });
  const timed = timedChannels(channels, callTimes);
  const lateness = new Lateness();
  const opened = openDesks(context, { storage, relay, channels: timed, strategy, replays: replays.gate, tempo, lateness });
  const module = notifierModule(opened.desks, new Silence({ site, channels, logger }));
  const app = await NestFactory.createMicroservice(module, { strategy, logger: false, abortOnError: false });
  const door = new KafkaDoor({ kafka, destinations: Object.keys(site.destinations), groups: [group], begin: () => app.listen(), logger });
  const server = await startInternalServer({
    host: env.INTERNAL_HOST,
    port: env.INTERNAL_PORT,
    tokens,
    readiness: [databaseReadiness(db), relay.readiness, opened.known.readiness, door.readiness, ...strategy.readiness],
    logger,
  });
  const upkeep = keepUp(context, { storage, relay, channels, server, callTimes, lateness });
  await relay.start();
  await opened.startControls();
  upkeep.start();
  void door.open();
  return [
    { name: 'database', stop: () => db.close() },
    { name: 'kafka', stop: () => kafka.close() },
    { name: 'relay', stop: () => relay.stop() },
    { name: 'internal', stop: () => server.stop() },
    { name: 'operator client', stop: () => replays.close() },
    { name: 'channels', stop: async () => void (await Promise.all([...channels.values()].map((channel) => channel.close()))) },
    { name: 'upkeep', stop: () => upkeep.stop() },
    { name: 'destination controls', stop: () => opened.stopControls() },
    { name: 'engines', stop: () => opened.stopEngines() },
    { name: 'consumer', stop: () => closeConsumer(app, door) },
  ];
}

/** Stops fetching and waits for what the engines hold. */
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
        tierTopics: retryTiers.map(notifierWakeTopic),
        event: LeadResolvedEvent,
      },
    ],
    logger,
  });
}

interface UpkeepParts {
  storage: Storage;
  relay: Relay;
  channels: ReadonlyMap<string, OpenChannel>;
  server: InternalServer;
  callTimes: CallTimes;
  lateness: Lateness;
}

/** Serves the deliveries to other services, and keeps those moving that no record moves. */
function keepUp({ env, logger, telemetry }: Context, parts: UpkeepParts): Upkeep {
  const { storage, relay, channels, server, callTimes, lateness } = parts;
  const { db, codec } = storage;
  const topics = { wakeTopic: notifierWakeTopic, dlqTopic: notifierDlq };
  const target = (name: string) => sweptNotification(name, { ...topics, channels, leaseMs: env.LEASE_MS });
  const relayWake = (): void => relay.wake();
  const decode = (event: Buffer) => codec.decode(LeadResolvedEvent, event);
  serveDeliveries(server, { db, target, verified: target, relayWake, decode, telemetry, logger });
  serveOwnerless(server, db);
  const states = statesRoute(db);
  server.route('/internal/v1/deliveries:state', { callers: ['intake', 'reconciler', 'operator'], body: statesRequest }, async (body) =>
    withNotifications(await states(body)),
  );
  return createUpkeep({
    db,
    target,
    verified: target,
    onLeaseExpired: ({ destination, state, test }) => {
      if (state === 'uncertain' && !test) countNotification(destination, 'uncertain');
    },
    callTimes,
    lateness,
    purges: [(limit) => purgeOwnerless(db, limit)],
    relayWake,
    telemetry,
    logger,
    sweepMs: env.SWEEP_MS,
  });
}
