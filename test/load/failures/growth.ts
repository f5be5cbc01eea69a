import { WriterWorld } from '../crm-writer/writer-world.js';
import { type BenchResult, median } from '../report.js';

/** Deliveries that ended in the last days, with their operations and attempts, as a writer leaves them. */
const fills = [
  `INSERT INTO crm_writer.delivery (event_id, destination, state, attempt_id, submitted_at, deadline_at, claimed_at, updated_at, test, lead_ref,
     operation_keys, record_key, event)
   SELECT id, $1, 'delivered', gen_random_uuid(), old, old + interval '4 hours', old, old, false, 'L-' || upper(substr(md5(id::text), 1, 16)),
     ARRAY[id || ':' || $1 || ':lead'], convert_to(md5(id::text), 'UTF8'), decode(repeat(md5(id::text), 30), 'hex')
   FROM (SELECT gen_random_uuid() AS id, now() - random() * interval '30 days' AS old FROM generate_series(1, $2::int)) AS made`,
  `INSERT INTO crm_writer.operation (operation_key, event_id, destination, kind, state, attempt_id, attempts, destination_ref, request_hash,
     mapping_version, updated_at)
   SELECT operation_keys[1], event_id, destination, 'lead', 'succeeded', attempt_id, 1, 'rec-1', md5(event_id::text), 1, updated_at
   FROM crm_writer.delivery WHERE destination = $1`,
  `INSERT INTO crm_writer.attempt (operation_key, attempt_id, late, number, started_at, duration_ms, outcome, status, destination_ref, trace_id,
     span_id)
   SELECT operation_key, attempt_id, false, 1, updated_at, 20, 'succeeded', 201, 'rec-1', md5(operation_key), substr(md5(operation_key), 1, 16)
   FROM crm_writer.operation WHERE destination = $1`,
];

/** Rows of another destination of the same service: they share tables and indexes, and no count of the world takes them for its own. */
async function fill(world: WriterWorld, rows: number): Promise<void> {
  const destination = 'long-ago';
  await world.sql(fills[0] ?? '', [destination, rows]);
  for (const text of fills.slice(1)) await world.sql(text, [destination]);
  await world.sql('VACUUM ANALYZE crm_writer.delivery, crm_writer.operation, crm_writer.attempt');
}

/** Leads claimed, sent and recorded per second, from the first call to the last answer. */
async function drain(world: WriterWorld, leads: number): Promise<number> {
  world.send({ kind: 'vault', open: false });
  world.send({ kind: 'set', latencyMs: 0 });
  world.send({ kind: 'reset' });
  await world.produce(leads);
  world.send({ kind: 'vault', open: true });
  await world.quiet(leads);
  const { firstAt, lastAt } = await world.report();
  return (leads * 1_000) / (lastAt - firstAt);
}

/** How fast leads are claimed and recorded with this many deliveries in the tables, against empty ones. */
export async function growth(rows: number, { leads, rounds }: { leads: number; rounds: number }): Promise<BenchResult> {
  const options = { operations: ['lead'], concurrency: 64 };
  const empty = await WriterWorld.start(options);
  const full = await WriterWorld.start(options);
  await fill(full, rows);
  const samples = { ours: [] as number[], baseline: [] as number[] };
  for (let round = 0; round <= rounds; round += 1) {
    await empty.sql('TRUNCATE crm_writer.delivery, crm_writer.operation, crm_writer.attempt');
    const [baseline, ours] = [await drain(empty, leads), await drain(full, leads)];
    console.error(
      `${round === 0 ? 'warm-up' : `round ${round}`}: ${Math.round(ours)} leads/s with ${rows} rows, ${Math.round(baseline)} without`,
    );
    if (round === 0) continue;
    samples.ours.push(ours);
    samples.baseline.push(baseline);
  }
  await empty.close();
  await full.close();
  return {
    what: `crm-writer claims, sends and records ${leads} leads with ${rows} delivered rows in its tables, against empty tables`,
    unit: 'leads/s',
    ours: median(samples.ours),
    baseline: median(samples.baseline),
    ratio: median(samples.ours) / median(samples.baseline),
    goal: '>= 0.9',
    note: 'vault and CRM are stand-ins on the same cores',
    samples,
  };
}
