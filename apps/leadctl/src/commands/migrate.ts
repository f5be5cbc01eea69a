import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError, type Migrations, migrateService } from '#runtime';
import type { Line } from '../output.js';

export interface MigrateOptions {
  /** Database URL of the owner of all tables. */
  url: string;
  /** Only these services; default all. */
  services?: readonly string[];
  /** Login user of the services; default the user of `url`. */
  login?: string;
}

/** Built apps: this file lies in <apps>/leadctl/src/commands. */
const builtApps = path.join(import.meta.dirname, '../../..');

/**
 * Runs the migrations of the services. An app that has tables exports `migrations` (an array of TypeORM migration classes, oldest first) from
 * src/migrations/index.ts. They are found by that path and loaded at run time, because no app may import another.
 * @throws ConfigError for a service without migrations, DatabaseUnavailable, StatementFailed.
 */
export async function migrate({ url, services, login }: MigrateOptions, appsDir = builtApps): Promise<Line[]> {
  const found = servicesWithMigrations(appsDir);
  const unknown = (services ?? []).filter((service) => !found.includes(service));
  if (unknown.length > 0) {
    const fix = `Choose of ${found.join(', ')}`;
    throw new ConfigError(unknown.map((service) => ({ path: `--service ${service}`, problem: 'has no migrations', fix })));
  }
  const lines: Line[] = [];
  for (const service of services ?? found) {
    const { applied } = await migrateService({ url, service, migrations: await load(appsDir, service), login });
    lines.push({ service, applied: applied.join(', ') || 'nothing new' });
  }
  return lines;
}

/** Names of the migrations of every service that has tables, by service. */
export async function knownMigrations(appsDir = builtApps): Promise<Map<string, string[]>> {
  const names = new Map<string, string[]>();
  for (const service of servicesWithMigrations(appsDir)) {
    const classes = Object.values((await load(appsDir, service)) ?? []);
    names.set(
      service,
      classes.map((one) => (typeof one === 'function' ? one.name : String(one))),
    );
  }
  return names;
}

const migrationsOf = (appsDir: string, service: string): string => path.join(appsDir, service, 'src/migrations/index.js');

function servicesWithMigrations(appsDir: string): string[] {
  return readdirSync(appsDir)
    .filter((app) => existsSync(migrationsOf(appsDir, app)))
    .sort();
}

async function load(appsDir: string, service: string): Promise<Migrations> {
  const module = (await import(pathToFileURL(migrationsOf(appsDir, service)).href)) as { migrations?: Migrations };
  if (module.migrations !== undefined) return module.migrations;
  throw new Error(`apps/${service}/src/migrations/index.ts must export "migrations"`);
}
