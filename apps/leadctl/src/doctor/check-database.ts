import { databaseRole, openDatabase, schemaName } from '#runtime';
import { knownMigrations } from '../commands/migrate.js';
import { type Finding, fine, looked, wrong } from './finding.js';

/** A process uses only durations of the database's clock; people compare times of both. */
const clockMayDifferMs = 1_000;

/** For each service that has tables: its role gets in, its migrations are those of this release, its clock is ours. */
export async function checkDatabase(url: string | undefined): Promise<Finding[]> {
  if (url === undefined) return [wrong('database', 'DATABASE_URL is not set', 'Set it')];
  const findings: Finding[] = [];
  for (const [service, migrations] of await knownMigrations()) findings.push(...(await checkService(url, service, migrations)));
  return findings;
}

function checkService(url: string, service: string, migrations: readonly string[]): Promise<Finding[]> {
  const what = `database of ${service}`;
  return looked(what, 'Start PostgreSQL, correct DATABASE_URL, or run `leadctl migrate`', async () => {
    const db = await openDatabase({
      url,
      role: databaseRole(service),
      schema: schemaName(service),
      applicationName: 'leadctl-doctor',
      poolSize: 1,
    });
    try {
      const rows = await db.sql<{ name: string }>('doctor.migrations', 'SELECT name FROM migration', []);
      const before = Date.now();
      const [clock] = await db.sql<{ now: Date }>('doctor.clock', 'SELECT clock_now() AS now', []);
      const offsetMs = (clock?.now.getTime() ?? 0) - (before + Date.now()) / 2;
      return [migrated(what, migrations, new Set(rows.map(({ name }) => name))), sameTime(`clock of ${what}`, offsetMs)];
    } finally {
      await db.close();
    }
  });
}

function migrated(what: string, migrations: readonly string[], applied: ReadonlySet<string>): Finding {
  const missing = migrations.filter((name) => !applied.has(name));
  const unknown = [...applied].filter((name) => !migrations.includes(name));
  if (missing.length > 0) return wrong(what, `lacks ${missing.join(', ')}`, 'Run `leadctl migrate`');
  // An older release beside a newer one is how a release is rolled out.
  const beside = unknown.length === 0 ? '' : `; also has ${unknown.join(', ')} of another release`;
  return fine(what, `${migrations.length} migrations${beside}`);
}

function sameTime(what: string, offsetMs: number): Finding {
  const words = `${Math.abs(Math.round(offsetMs))} ms ${offsetMs < 0 ? 'behind' : 'ahead of'} this machine`;
  if (Math.abs(offsetMs) <= clockMayDifferMs) return fine(what, words);
  return wrong(what, words, 'Synchronise both clocks: times that people see are those of the database');
}
