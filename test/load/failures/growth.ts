import { WriterWorld } from '../crm-writer/writer-world.js';
import { type BenchResult, median } from '../report.js';
import { overdueRows, SweepTimer } from './sweep-timer.js';

const sweepsPerRound = 20;

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

interface Round {
  /** Leads claimed, sent and recorded per second, from the first call to the last answer. */
  delivered: number;
  /** Leads per second from the first call until the relay has announced the last. */
  announced: number;
  sweepMs: number;
}

/** A world with a timer of its sweeps. */
interface Tables {
  world: WriterWorld;
  sweeps: SweepTimer;
}

async function openTables(): Promise<Tables> {
  const world = await WriterWorld.start({ operations: ['lead'], concurrency: 64 });
  return { world, sweeps: await SweepTimer.open(world) };
}

async function closeTables({ world, sweeps }: Tables): Promise<void> {
  await sweeps.close();
  await world.close();
}

async function drain({ world, sweeps }: Tables, leads: number): Promise<Round> {
  world.send({ kind: 'vault', open: false });
  world.send({ kind: 'set', latencyMs: 0 });
  world.send({ kind: 'reset' });
  await world.produce(leads);
  world.send({ kind: 'vault', open: true });
  await world.quiet(leads);
  const announcedAt = Date.now();
  const { firstAt, lastAt } = await world.report();
  return {
    delivered: (leads * 1_000) / (lastAt - firstAt),
    announced: (leads * 1_000) / (announcedAt - firstAt),
    sweepMs: await sweeps.time(sweepsPerRound),
  };
}

/** How fast leads are claimed, recorded and announced and rows swept with this many deliveries in the tables, against empty ones. */
export async function growth(rows: number, { leads, rounds }: { leads: number; rounds: number }): Promise<BenchResult[]> {
  const [empty, full] = [await openTables(), await openTables()];
  await fill(full.world, rows);
  const samples = { ours: [] as Round[], baseline: [] as Round[] };
  for (let round = 0; round <= rounds; round += 1) {
    await empty.world.sql('TRUNCATE crm_writer.delivery, crm_writer.operation, crm_writer.attempt');
    const [baseline, ours] = [await drain(empty, leads), await drain(full, leads)];
    console.error(
      `${round === 0 ? 'warm-up' : `round ${round}`}: ${Math.round(ours.delivered)} leads/s and ${ours.sweepMs.toFixed(1)} ms a sweep with ${rows} rows, ${Math.round(baseline.delivered)} and ${baseline.sweepMs.toFixed(1)} without`,
    );
    if (round === 0) continue;
    samples.ours.push(ours);
    samples.baseline.push(baseline);
  }
  for (const tables of [empty, full]) await closeTables(tables);
  const amid = `with ${rows} delivered rows in its tables, against empty tables`;
  const note = 'vault and CRM are stand-ins on the same cores';
  const figure = (of: keyof Round) => {
    const own = { ours: samples.ours.map((one) => one[of]), baseline: samples.baseline.map((one) => one[of]) };
    const [ours, baseline] = [median(own.ours), median(own.baseline)];
    return { ours, baseline, ratio: of === 'sweepMs' ? baseline / ours : ours / baseline, goal: '>= 0.9', samples: own };
  };
  return [
    { what: `crm-writer claims, sends and records ${leads} leads ${amid}`, unit: 'leads/s', ...figure('delivered'), note },
    { what: `the same until its relay has announced all of them, ${amid}`, unit: 'leads/s', ...figure('announced'), note },
    {
      what: `one sweep with ${overdueRows} overdue deliveries ${amid}`,
      unit: 'ms',
      ...figure('sweepMs'),
      note: `the middle one of ${sweepsPerRound} in each round`,
    },
  ];
}
