import { LeadAcceptedEvent } from '#contracts';
import { serveDeliveries } from '#delivery';
import { type InternalClient, internalClient, migrateService, openDatabase, startInternalServer, startTelemetry } from '#runtime';
import { testDatabase } from '#testkit';
import { migrations } from '../../../apps/crm-writer/src/migrations/index.js';
import { codec, leadAccepted, silent } from '../../../apps/operator/test/rig.js';

const token = 'operator-token-16chars';

/** A third is held at `crm`, a third uncertain at `erp`; the last was delivered and is nobody's concern. */
const deliveriesSql = `
INSERT INTO delivery (event_id, destination, state, code, submitted_at, deadline_at, claimed_at, updated_at, test, lead_ref, operation_keys, event)
SELECT md5(n::text)::uuid, CASE n % 3 WHEN 0 THEN 'crm' ELSE 'erp' END, CASE n % 3 WHEN 0 THEN 'held' WHEN 1 THEN 'uncertain' ELSE 'delivered' END,
  'timeout', clock_timestamp() - n * interval '10 ms', clock_timestamp() + interval '4 hours', clock_timestamp(), clock_timestamp(), false,
  'L-' || n, ARRAY[n || ':lead'], $3::bytea
FROM generate_series($1::int, $2::int) n`;

export interface OpenDeliveries {
  client: InternalClient;
  close(): Promise<void>;
}

/** A crm-writer's internal door behind which as many deliveries are held as are uncertain. */
export async function openDeliveries(ofEach: number): Promise<OpenDeliveries> {
  const database = await testDatabase('bench_open');
  await migrateService({ url: database.url, service: 'crm-writer', migrations });
  const db = await openDatabase({ url: database.url, role: 'ld_crm_writer', schema: 'crm_writer', applicationName: 'bench' });
  const event = codec.encode(LeadAcceptedEvent, leadAccepted());
  const rows = ofEach * 3;
  for (let n = 1; n <= rows; n += 30_000) await db.sql('bench.deliveries', deliveriesSql, [n, Math.min(rows, n + 29_999), event]);
  const server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens: { operator: token }, readiness: [], logger: silent });
  const nobody = () => undefined;
  const telemetry = startTelemetry({ service: 'bench', ratio: 0 });
  serveDeliveries(server, { db, target: nobody, verified: nobody, relayWake: nobody, telemetry, logger: silent, decode: nobody as never });
  const client = internalClient({ baseUrl: `http://127.0.0.1:${server.port}`, token, timeoutMs: 5_000 });
  return {
    client,
    close: async () => {
      await client.close();
      await server.stop();
      await db.close();
      await database.drop();
    },
  };
}
