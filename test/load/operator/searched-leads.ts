import { findRequest, findRoute } from '#delivery';
import { type Database, type InternalClient, internalClient, migrateService, openDatabase, startInternalServer } from '#runtime';
import { testDatabase } from '#testkit';
import { migrations } from '../../../apps/crm-writer/src/migrations/index.js';
import { acceptLeads } from '../../../apps/intake/src/accept-leads.js';
import { serveSearch } from '../../../apps/intake/src/search/search-routes.js';
import { acceptTools, openIntakeDatabase, submission } from '../../../apps/intake/test/fixture.js';
import { silent } from '../../../apps/operator/test/rig.js';

const token = 'operator-token-16chars';
/** Leads of one transaction. */
const chunk = 250;

/** Two calls of each operation. */
const attemptsSql = `
INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome, class, destination_ref, trace_id)
SELECT n || ':crm:lead', md5(n || 'a' || a)::uuid, false, a, clock_timestamp() - n * interval '1 second', 'succeeded', NULL, 'R-' || n, md5(n || 't')
FROM generate_series($1::int, $2::int) n, generate_series(1, 2) a`;
const operationsSql = `
INSERT INTO operation (operation_key, event_id, destination, kind, state, updated_at)
SELECT n || ':crm:lead', CASE n WHEN $3 THEN $4::uuid ELSE md5(n::text)::uuid END, 'crm', 'lead', 'succeeded', clock_timestamp()
FROM generate_series($1::int, $2::int) n`;

export interface SearchedLeads {
  /** Of every service that is asked. */
  clients: Map<string, InternalClient>;
  /** What may be typed, by what it is. */
  texts: Record<string, string>;
  close(): Promise<void>;
}

/** Intake and crm-writer with so many leads of as many people, behind their internal doors. */
export async function searchedLeads(count: number): Promise<SearchedLeads> {
  const [intakes, writers] = [await testDatabase('bench_intake'), await testDatabase('bench_writer')];
  const intake = await openIntakeDatabase(intakes.url);
  const tools = acceptTools(intake);
  const trace = {
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    sampled: false,
  };
  let found = { eventId: '', leadRef: '' };
  for (let n = 0; n < count; n += chunk) {
    const leads = Array.from({ length: Math.min(chunk, count - n) }, (_, index) => {
      const sourceEventId = `bench-${n + index}`;
      const contact = { name: 'Ada Example', email: `ada.${n + index}@example.test`, phone: '+12025550123' };
      return { submission: submission({ sourceEventId, contact }), trace };
    });
    const [first] = await acceptLeads(tools, leads);
    // One from the middle.
    if (n <= count / 2 && first !== undefined && 'leadRef' in first) found = { eventId: first.eventId, leadRef: first.leadRef };
  }
  const middle = Math.trunc(count / 2 / chunk) * chunk;
  const writer = await fillWriter(writers.url, { count, one: middle || 1, eventId: found.eventId });
  const serve = () => startInternalServer({ host: '127.0.0.1', port: 0, tokens: { operator: token }, readiness: [], logger: silent });
  const [intakeServer, writerServer] = [await serve(), await serve()];
  serveSearch(intakeServer, { ...tools, db: intake, codec: tools.codec as never });
  writerServer.route('/internal/v1/deliveries:find', { callers: ['operator'], body: findRequest }, findRoute(writer));
  const client = ({ port }: { port: number }) => internalClient({ baseUrl: `http://127.0.0.1:${port}`, token, timeoutMs: 5_000 });
  const clients = new Map([
    ['intake', client(intakeServer)],
    ['crm-writer', client(writerServer)],
  ]);
  return {
    clients,
    texts: {
      'event id': found.eventId,
      reference: found.leadRef,
      "source's own id": `bench-${middle}`,
      address: `ada.${middle}@example.test`,
      'phone number of everybody': '+12025550123',
      'trace id': `${await md5(writer, `${middle || 1}t`)}`,
      'reference at the CRM': `R-${middle || 1}`,
    },
    close: async () => {
      await Promise.all([...clients.values()].map((one) => one.close()));
      await Promise.all([intakeServer.stop(), writerServer.stop()]);
      await Promise.all([intake.close(), writer.close()]);
      await Promise.all([intakes.drop(), writers.drop()]);
    },
  };
}

async function md5(db: Database, text: string): Promise<string> {
  return (await db.sql<{ hash: string }>('bench.md5', 'SELECT md5($1) AS hash', [text]))[0]?.hash ?? '';
}

async function fillWriter(url: string, { count, one, eventId }: { count: number; one: number; eventId: string }): Promise<Database> {
  await migrateService({ url, service: 'crm-writer', migrations });
  const db = await openDatabase({ url, role: 'ld_crm_writer', schema: 'crm_writer', applicationName: 'bench' });
  for (let n = 1; n <= count; n += 10_000) {
    const last = Math.min(count, n + 9_999);
    await db.sql('bench.operations', operationsSql, [n, last, one, eventId]);
    await db.sql('bench.attempts', attemptsSql, [n, last]);
  }
  return db;
}
