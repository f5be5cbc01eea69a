import { topology } from '#contracts';
import { createKafka, kafkaSettings } from '#messaging';
import { onScrape, type ServiceContext, type Stoppable, startInternalServer } from '#runtime';
import type { reconcilerEnv } from './env.js';
import { LagExporter } from './lag/lag-exporter.js';

/** Starts reconciler: the exporter of consumer-group lag behind its metrics page. It has no doors of its own, so Nest has nothing to do here. */
export async function startReconciler({ env, site, logger }: ServiceContext<typeof reconcilerEnv>): Promise<Stoppable[]> {
  const kafka = createKafka({ ...kafkaSettings(env), clientId: 'reconciler', logger });
  const admin = await kafka.admin();
  const { groups } = topology(Object.keys(site.destinations));
  const exporter = new LagExporter({ source: admin, groups, logger });
  const stopExporting = onScrape(() => exporter.refresh());
  const server = await startInternalServer({
    host: env.INTERNAL_HOST,
    port: env.INTERNAL_PORT,
    tokens: {},
    readiness: [exporter.readiness],
    logger,
  });
  return [
    { name: 'kafka', stop: () => kafka.close() },
    { name: 'lag exporter', stop: () => void stopExporting() },
    { name: 'internal', stop: () => server.stop() },
  ];
}
