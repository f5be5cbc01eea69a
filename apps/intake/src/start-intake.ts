import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type EventDescriptor, groups, LeadResolvedEvent, LeadSubmittedEvent, topics } from '#contracts';
import { createKafka, createRelay, KafkaDoor, type KafkaPort, kafkaSettings, MessagingStrategy, type Relay } from '#messaging';
import {
  databaseReadiness,
  type InternalClient,
  type InternalServer,
  internalClient,
  type Logger,
  type ServiceContext,
  type Stoppable,
  startInternalServer,
} from '#runtime';
import type { AcceptTools } from './accept-leads.js';
import { serveBalance } from './balance/balance-routes.js';
import { serveConsent } from './consent/consent-route.js';
import { Consents } from './consent/consents.js';
import { serveCorrections } from './corrections/correction-routes.js';
import type { intakeEnv } from './env.js';
import { serveErasure } from './erasure/erase-routes.js';
import { createApp } from './http/create-app.js';
import { HttpAcceptance } from './http/http-acceptance.js';
import { SourceKeys } from './http/source-keys.js';
import { LeadJourneys } from './journey/lead-journeys.js';
import { LiveStates } from './journey/live-states.js';
import { DatabasePatience } from './kafka/database-patience.js';
import { ResolvedLeads } from './kafka/resolved-leads.js';
import { SubmittedLeads } from './kafka/submitted-leads.js';
import { Purger } from './purge/purger.js';
import { unreadSince } from './reannounce/backlog.js';
import { Reannouncer } from './reannounce/reannouncer.js';
import { serveSearch } from './search/search-routes.js';
import { loadSecrets, openStorage, type Storage } from './storage.js';
import { serveTestLeads } from './test-leads/test-lead-route.js';
import { serveReveal } from './vault/reveal-routes.js';
import { serveRewrap } from './vault/rewrap-route.js';
import { serveVault } from './vault/vault-route.js';
import { serveVaultStates } from './vault/vault-states.js';

type Context = ServiceContext<typeof intakeEnv>;

/** Of the second that an answer about a lead may take; the rest is for our own rows. */
const askOwnersWithinMs = 800;

/** Starts intake: storage, relay, internal API, HTTP door, Kafka door. */
export async function startIntake(context: Context): Promise<Stoppable[]> {
  const { env, site, logger, telemetry } = context;
  const secrets = loadSecrets(env.LD_SECRETS_DIR);
  const { tokens } = secrets;
  const kafka = createKafka({ ...kafkaSettings(env), clientId: 'intake', logger });
  const storage = await openStorage(env, secrets);
  const { db } = storage;
  const relay = createRelay({ db, kafka, logger, pollMs: env.RELAY_POLL_MS });
  const tools: AcceptTools = { ...storage, site, telemetry, relayWake: () => relay.wake() };
  const owners = ownerClients(env, tokens.intake ?? '');

  const strategy = messagingStrategy(context, { kafka, storage });
  const patience = (group: string) => new DatabasePatience({ group: () => strategy.consumer(group), logger });
  const waiting = { leads: patience(groups.intake), states: patience(groups.intakeStates) };
  const acceptance = new HttpAcceptance(tools);
  const app = await createApp(
    {
      acceptance,
      journeys: new LeadJourneys({ ...storage, live: new LiveStates(owners, askOwnersWithinMs) }),
      consents: new Consents(db),
      submitted: new SubmittedLeads({ ...tools, logger, patience: waiting.leads }),
      resolved: new ResolvedLeads({ db, logger, patience: waiting.states }),
    },
    { keys: new SourceKeys(site.sources), telemetry, logger, bodyLimitBytes: site.limits.bodyBytes },
  );
  app.connectMicroservice({ strategy }, { inheritAppConfig: false });
  const door = new KafkaDoor({
    kafka,
    destinations: Object.keys(site.destinations),
    groups: [groups.intake, groups.intakeStates],
    produces: [topics.leadAccepted, topics.leadResolved, topics.intakeDlq],
    logger,
    begin: () => app.startAllMicroservices(),
  });

  const server = await startInternalServer({
    host: env.INTERNAL_HOST,
    port: env.INTERNAL_PORT,
    tokens,
    readiness: [databaseReadiness(db), relay.readiness, door.readiness, ...strategy.readiness],
    logger,
  });
  serveOthers(server, tools, { storage, logger });
  const purger = new Purger({ db, logger });
  purger.start();
  await relay.start();
  await app.listen({ host: env.HTTP_HOST, port: env.HTTP_PORT });
  void door.open();
  return [
    { name: 'database', stop: () => db.close() },
    { name: 'kafka', stop: () => kafka.close() },
    { name: 'relay', stop: () => relay.stop() },
    { name: 'internal', stop: () => server.stop() },
    { name: 'purger', stop: () => purger.stop() },
    ...owned(context, { storage, owners, relay, kafka }),
    { name: 'doors', stop: () => closeDoors({ app, acceptance, door, patience: Object.values(waiting) }) },
  ];
}

/** What other services and people at the keyboard may ask for. */
function serveOthers(server: InternalServer, tools: AcceptTools, { storage, logger }: { storage: Storage; logger: Logger }): void {
  const { site, relayWake } = tools;
  serveVault(server, { ...storage, logger });
  serveVaultStates(server, storage);
  serveTestLeads(server, tools);
  serveRewrap(server, storage);
  serveBalance(server, storage);
  serveSearch(server, { ...storage, site });
  serveReveal(server, { ...storage, logger });
  serveConsent(server, { db: storage.db, logger });
  serveCorrections(server, { ...storage, site });
  serveErasure(server, { ...storage, site, relayWake, logger });
}

function messagingStrategy({ env, logger }: Context, { kafka, storage }: { kafka: KafkaPort; storage: Storage }): MessagingStrategy {
  const subscribe = (group: string, topic: string, event: EventDescriptor<unknown>) => ({ group, pattern: topic, topics: [topic], event });
  return new MessagingStrategy({
    kafka,
    codec: storage.codec,
    sessionTimeoutMs: env.KAFKA_SESSION_TIMEOUT_MS,
    subscriptions: [
      subscribe(groups.intake, topics.leads, LeadSubmittedEvent),
      subscribe(groups.intakeStates, topics.leadResolved, LeadResolvedEvent),
    ],
    logger,
  });
}

/** Clients of the services that own deliveries and notifications, where the environment names them. */
function ownerClients(env: Context['env'], token: string): Record<string, InternalClient> {
  const named = ['crm-writer', 'notifier'].flatMap((service): [string, string][] => {
    const baseUrl = env.INTERNAL_URLS[service];
    return baseUrl === undefined ? [] : [[service, baseUrl]];
  });
  return Object.fromEntries(named.map(([service, baseUrl]) => [service, internalClient({ baseUrl, token, timeoutMs: askOwnersWithinMs })]));
}

/** What depends on the owners of deliveries. */
function owned(
  { env, site, logger }: Context,
  { storage, owners, relay, kafka }: { storage: Storage; owners: Record<string, InternalClient>; relay: Relay; kafka: KafkaPort },
): Stoppable[] {
  const clients = {
    name: 'owner clients',
    stop: async () => void (await Promise.all(Object.values(owners).map((client) => client.close()))),
  };
  const owner = owners['crm-writer'];
  if (!owner) return [clients];
  const reannouncer = new Reannouncer({
    db: storage.db,
    codec: storage.codec,
    site,
    owner,
    unreadSince: async (destinations) => unreadSince(await kafka.admin(), destinations),
    relayWake: () => relay.wake(),
    logger,
    everyMs: env.SWEEP_MS,
  });
  reannouncer.start();
  return [clients, { name: 'reannouncer', stop: () => reannouncer.stop() }];
}

/** Both doors stop taking; what was taken is answered or settled. Waiting for PostgreSQL ends: what is not settled comes again. */
async function closeDoors(parts: {
  app: NestFastifyApplication;
  acceptance: HttpAcceptance;
  door: KafkaDoor;
  patience: DatabasePatience[];
}): Promise<void> {
  parts.door.stop();
  for (const patience of parts.patience) patience.stop();
  await parts.app.close();
  await parts.acceptance.idle();
}
