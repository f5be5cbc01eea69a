import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { schemaIdsDdl } from '#messaging';
import { type TestDatabase, testDatabase, testInfra, uniqueName } from '#testkit';
import { migrate } from './migrate.js';
import { applyAllSchemas } from './schemas.js';

let server: TestDatabase;
beforeEach(async () => {
  server = await testDatabase('leadctl');
});
afterEach(() => server.drop());

/** A folder as `dist/apps` would be, with the migrations of each app as JavaScript text. */
function builtApps(apps: Record<string, string>): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'apps-'));
  writeFileSync(path.join(dir, 'package.json'), '{"type":"module"}');
  for (const [app, text] of Object.entries(apps)) {
    mkdirSync(path.join(dir, app, 'src/migrations'), { recursive: true });
    writeFileSync(path.join(dir, app, 'src/migrations/index.js'), text);
  }
  mkdirSync(path.join(dir, 'leadctl/src'), { recursive: true });
  return dir;
}

const migration = (name: string, ddl: string) => `
  class ${name}1764374400000 { up(runner) { return runner.query(${JSON.stringify(ddl)}); } down() {} }
  export const migrations = [${name}1764374400000];`;

async function query(text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

describe('migrate', () => {
  it('finds the migrations of every app by their path, runs them once, each in its own schema', async () => {
    const apps = builtApps({ 'one-app': migration('One', 'CREATE TABLE a (n int)'), two: migration('Two', 'CREATE TABLE a (n int)') });
    expect(await migrate({ url: server.url }, apps)).toEqual([
      { service: 'one-app', applied: 'One1764374400000' },
      { service: 'two', applied: 'Two1764374400000' },
    ]);
    expect(await migrate({ url: server.url, services: ['two'] }, apps)).toEqual([{ service: 'two', applied: 'nothing new' }]);
    expect(await query("SELECT schemaname FROM pg_tables WHERE tablename = 'a' ORDER BY 1")).toEqual([
      { schemaname: 'one_app' },
      { schemaname: 'two' },
    ]);
  });

  it('refuses a service that has none, and an index that exports none', async () => {
    const apps = builtApps({ odd: 'export const other = 1;' });
    await expect(migrate({ url: server.url, services: ['ghost'] }, apps)).rejects.toThrow('Choose of odd');
    await expect(migrate({ url: server.url }, apps)).rejects.toThrow('must export "migrations"');
  });
});

describe('schemas apply', () => {
  it('stores the ids in every schema that has the table, and asks for migrations where none has', async () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'schemas-'));
    const subject = `${uniqueName('leadctl')}-value`;
    mkdirSync(path.join(dir, subject));
    writeFileSync(path.join(dir, subject, 'v1.avsc'), JSON.stringify({ type: 'record', name: 'A', fields: [] }));
    const apply = () => applyAllSchemas({ registryUrl: testInfra().schemaRegistry, url: server.url, dir });
    await expect(apply()).rejects.toThrow('leadctl migrate');
    await migrate({ url: server.url }, builtApps({ one: migration('One', schemaIdsDdl), two: migration('Two', schemaIdsDdl) }));
    const [applied] = await apply();
    expect(applied).toMatchObject({ subject, version: 1, result: 'registered' });
    for (const schema of ['one', 'two']) {
      expect(await query(`SELECT subject, id FROM ${schema}.schema_id`)).toEqual([{ subject, id: applied?.id }]);
    }
  });
});
