import { topology } from '#contracts';
import { balanceSources } from '#delivery';
import { type Connector, createConnector } from '#destinations';
import { createKafka, kafkaSettings } from '#messaging';
import {
  databaseReadiness,
  hmacs,
  loadHmacSecret,
  loadInternalTokens,
  onScrape,
  type ServiceContext,
  type Site,
  type Stoppable,
  startInternalServer,
} from '#runtime';
import { serveReconciliation } from './api/routes.js';
import { BalanceKeeper } from './balance/balance-keeper.js';
import { keepDeadEnds } from './dead-ends/dead-end-keeper.js';
import { liveTraffic } from './destinations/traffic.js';
import type { reconcilerEnv } from './env.js';
import { LagExporter } from './lag/lag-exporter.js';
import { openClients, sourcesOf } from './open-sources.js';
import { Periodic } from './periodic.js';
import { publishOpen } from './publish-open.js';
import { Runner } from './runs/runner.js';
import { openStorage } from './storage.js';

/** Until services that start beside it can be asked. */
const firstBalanceMs = 5_000;

/**
 * Starts reconciler: comparisons with destinations, the balance, the check of dead ends, and the exporter of consumer-group lag behind its
 * metrics page. It has no doors of its own, so Nest has nothing to do here.
 */
export async function startReconciler(context: ServiceContext<typeof reconcilerEnv>): Promise<Stoppable[]> {
  const { env, site, logger } = context;
  const tokens = loadInternalTokens(env.LD_SECRETS_DIR);
  const keyed = hmacs(loadHmacSecret(env.LD_SECRETS_DIR));
  const clients = openClients(env.INTERNAL_URLS, tokens.reconciler ?? '');
  const connectors = openConnectors(site, (config) =>
    createConnector({ name: config.name, config, secretsDir: env.LD_SECRETS_DIR, hmacs: keyed }),
  );
  const kafka = createKafka({ ...kafkaSettings(env), clientId: 'reconciler', logger });
  const admin = await kafka.admin();
  const { db, codec } = await openStorage(env);
  const { groups } = topology(Object.keys(site.destinations));
  const exporter = new LagExporter({ source: admin, groups, logger });
  const traffic = liveTraffic({ owner: clients['crm-writer'], admin });
  const sources = sourcesOf(clients);
  const tools = { db, site, codec, sources, connectors, traffic, hmacs: keyed, logger, leaseMs: env.RECONCILE_LEASE_MS };
  const runner = new Runner({ tools, pollMs: env.RECONCILE_POLL_MS });
  const balance = new BalanceKeeper({ db, sources: balanceSources({ intake: clients.intake, owner: clients['crm-writer'] }), logger });
  // Intake has what never came to an owner.
  const owners = new Map((['crm-writer', 'notifier', 'intake'] as const).map((name) => [name, clients[name]]));
  const periodic = [
    new Periodic({
      what: 'balance',
      everyMs: env.BALANCE_MS,
      firstMs: Math.min(firstBalanceMs, env.BALANCE_MS),
      run: () => balance.take(),
      logger,
    }),
    new Periodic({
      what: 'dead ends',
      everyMs: env.DEAD_ENDS_MS,
      run: () => keepDeadEnds(db, { operator: clients.operator, owners }),
      logger,
    }),
  ];
  const stopExporting = onScrape(() => exporter.refresh());
  const stopCounting = onScrape(publishOpen(db, { known: Object.keys(site.destinations), logger }));
  const server = await startInternalServer({
    host: env.INTERNAL_HOST,
    port: env.INTERNAL_PORT,
    tokens,
    readiness: [databaseReadiness(db), exporter.readiness, balance.readiness],
    logger,
  });
  serveReconciliation(server, { db, site, wake: () => runner.wake() });
  runner.start();
  for (const one of periodic) one.start();
  return [
    { name: 'database', stop: () => db.close() },
    { name: 'kafka', stop: () => kafka.close() },
    { name: 'clients', stop: async () => void (await Promise.all(Object.values(clients).map((client) => client.close()))) },
    { name: 'connectors', stop: async () => void (await Promise.all([...connectors.values()].map((connector) => connector.close()))) },
    { name: 'lag exporter', stop: () => void stopExporting() },
    { name: 'counts', stop: () => void stopCounting() },
    { name: 'internal', stop: () => server.stop() },
    { name: 'periodic', stop: async () => void (await Promise.all(periodic.map((one) => one.stop()))) },
    { name: 'runs', stop: () => runner.stop() },
  ];
}

/** Of every destination that is compared. */
function openConnectors(site: Site, open: (config: Site['destinations'][string]) => Connector): ReadonlyMap<string, Connector> {
  const compared = Object.values(site.destinations).filter(({ reconcile }) => reconcile !== undefined);
  return new Map(compared.map((config) => [config.name, open(config)]));
}
