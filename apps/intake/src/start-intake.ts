import { openReplays } from '#delivery';
import { createKafka, createRelay, type KafkaPort, kafkaSettings, type Relay } from '#messaging';
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
import { serveCorrections } from './corrections/correction-routes.js';
import type { intakeEnv } from './env.js';
import { serveErasure } from './erasure/erase-routes.js';
import { askOwnersWithinMs, createDoors } from './open-doors.js';
import { Purger } from './purge/purger.js';
import { unreadSince } from './reannounce/backlog.js';
import { Reannouncer } from './reannounce/reannouncer.js';
import { serveReceived } from './received/received-route.js';
import { serveOwnEnds } from './replay/own-routes.js';
import { serveReplays } from './replay/replay-routes.js';
import { serveSearch } from './search/search-routes.js';
import { loadSecrets, openStorage, type Storage } from './storage.js';
import { serveTestLeads } from './test-leads/test-lead-route.js';
import { serveReveal } from './vault/reveal-routes.js';
import { serveRewrap } from './vault/rewrap-route.js';
import { serveVault } from './vault/vault-route.js';
import { serveVaultStates } from './vault/vault-states.js';

type Context = ServiceContext<typeof intakeEnv>;

/** Starts intake: storage, relay, internal API, HTTP door, Kafka door. */
export async function startIntake(context: Context): Promise<Stoppable[]> {
  const { env, site, logger, telemetry } = context;
  const secrets = loadSecrets(env.LD_SECRETS_DIR);
  const { tokens } = secrets;
  const token = tokens.intake ?? '';
  const kafka = createKafka({ ...kafkaSettings(env), clientId: 'intake', logger });
  const storage = await openStorage(env, secrets);
  const { db } = storage;
  const relay = createRelay({ db, kafka, logger, pollMs: env.RELAY_POLL_MS });
  const tools: AcceptTools = { ...storage, site, telemetry, relayWake: () => relay.wake() };
  const owners = ownerClients(env, token);
  const replays = openReplays({ operatorUrl: env.INTERNAL_URLS.operator, token, secretsDir: env.LD_SECRETS_DIR, logger });
  const doors = await createDoors(context, { kafka, storage, tools, owners, gate: replays.gate });

  const server = await startInternalServer({
    host: env.INTERNAL_HOST,
    port: env.INTERNAL_PORT,
    tokens,
    readiness: [databaseReadiness(db), relay.readiness, doors.kafka.readiness, ...doors.strategy.readiness],
    logger,
  });
  serveOthers(server, tools, { storage, logger });
  const purger = new Purger({ db, logger, vaultMs: site.retention.vaultMs });
  purger.start();
  await relay.start();
  await doors.app.listen({ host: env.HTTP_HOST, port: env.HTTP_PORT });
  void doors.kafka.open();
  return [
    { name: 'database', stop: () => db.close() },
    { name: 'kafka', stop: () => kafka.close() },
    { name: 'relay', stop: () => relay.stop() },
    { name: 'internal', stop: () => server.stop() },
    { name: 'purger', stop: () => purger.stop() },
    { name: 'replays', stop: () => replays.close() },
    ...owned(context, { storage, owners, relay, kafka }),
    { name: 'doors', stop: () => doors.close() },
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
  serveReceived(server, storage);
  serveReplays(server, storage);
  serveOwnEnds(server, storage);
  serveSearch(server, { ...storage, site, vaultMs: site.retention.vaultMs });
  serveReveal(server, { ...storage, logger });
  serveConsent(server, { db: storage.db, logger });
  serveCorrections(server, { ...storage, site });
  serveErasure(server, { ...storage, site, relayWake, logger });
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
