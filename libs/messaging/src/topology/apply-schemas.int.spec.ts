import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { type LeadAccepted, LeadAcceptedEvent } from '#contracts';
import { type Database, migrateService, openDatabase } from '#runtime';
import { type TestDatabase, testDatabase, testInfra, uniqueName } from '#testkit';
import { createCodec } from '../codec/codec.js';
import { SchemaRefused } from '../codec/registry-client.js';
import { loadSchemaIds, schemaIdsDdl } from '../codec/schema-ids.js';
import { applySchemas, findSchemaIdTables } from './apply-schemas.js';

class CreateSchemaIds1764374400001 implements MigrationInterface {
  up = (runner: QueryRunner) => runner.query(schemaIdsDdl);
  down = () => Promise.reject(new Error('not needed'));
}

const registryUrl = testInfra().schemaRegistry;
const accepted = path.join(import.meta.dirname, '../../../../schemas/lead.accepted-value/v1.avsc');
let server: TestDatabase;
let db: Database;
let dir: string;
let subject: string;

beforeEach(async () => {
  server = await testDatabase('schemas');
  await migrateService({ url: server.url, service: 'schemas-spec', migrations: [CreateSchemaIds1764374400001] });
  db = await openDatabase({ url: server.url, role: 'ld_schemas_spec', schema: 'schemas_spec', applicationName: 'schemas-spec' });
  dir = mkdtempSync(path.join(tmpdir(), 'schemas-'));
  subject = `${uniqueName('spec')}-value`;
  mkdirSync(path.join(dir, subject));
});
afterEach(async () => {
  await db.close();
  await server.drop();
  rmSync(dir, { recursive: true });
});

const apply = async () => applySchemas({ registryUrl, dir, databases: await findSchemaIdTables(server.url) });
const write = (version: number, schema: object) =>
  writeFileSync(path.join(dir, subject, `v${version}.avsc`), JSON.stringify(schema, null, 2));
const registry = async (place: string) => (await fetch(`${registryUrl}${place}`)).json() as Promise<Record<string, unknown>>;

const v1 = { type: 'record', name: 'Spec', namespace: 'spec', fields: [{ name: 'id', type: 'string' }] };
const v2 = { ...v1, fields: [...v1.fields, { name: 'utm', type: ['null', 'string'], default: null }] };

describe('applying schemas', () => {
  it('registers each version once, sets the level, and stores the ids with the service', async () => {
    write(1, v1);
    write(2, v2);
    const first = await apply();
    expect(first.map(({ version, registered }) => ({ version, registered }))).toEqual([
      { version: 1, registered: true },
      { version: 2, registered: true },
    ]);
    const again = await apply();
    expect(again.map(({ id, registered }) => ({ id, registered }))).toEqual(first.map(({ id }) => ({ id, registered: false })));
    expect(await registry(`/subjects/${subject}/versions`)).toEqual([1, 2]);
    expect(Object.values(await registry(`/config/${subject}`))).toEqual(['FULL_TRANSITIVE']);
    const known = await loadSchemaIds(db);
    expect(known.map(({ version, id }) => ({ version, id }))).toEqual(first.map(({ version, id }) => ({ version, id })));
  });

  it('sends one form, so that the same schema in long form gets the same id', async () => {
    write(1, v1);
    const [short] = await apply();
    write(1, { ...v1, fields: [{ type: { type: 'string' }, name: 'id' }] });
    expect(await apply()).toEqual([expect.objectContaining({ id: short?.id, registered: false })]);
  });

  it('is refused by the registry where a version is incompatible, and stores nothing then', async () => {
    write(1, v1);
    await apply();
    write(2, { ...v1, fields: [...v1.fields, { name: 'city', type: 'string' }] });
    await expect(apply()).rejects.toBeInstanceOf(SchemaRefused);
    expect(await loadSchemaIds(db)).toHaveLength(1);
  });

  it('says what to do where no service is migrated', async () => {
    const empty = await testDatabase('schemas_empty');
    await expect(findSchemaIdTables(empty.url)).rejects.toThrow('leadctl migrate');
    await empty.drop();
  });
});

describe('a record written with an applied schema', () => {
  it('carries a 4-byte id under which the registry knows exactly that schema, and is read without asking it', async () => {
    rmSync(path.join(dir, subject), { recursive: true });
    cpSync(path.dirname(accepted), path.join(dir, LeadAcceptedEvent.subject), { recursive: true });
    await apply();
    const known = await loadSchemaIds(db);
    const offline = createCodec({ known, registryUrl: 'http://127.0.0.1:9/none' });
    const text = 'x';
    const lead: LeadAccepted = {
      event_id: text,
      event_type: 'lead.accepted',
      version: 1,
      lead_ref: text,
      organization: text,
      source: text,
      source_event_ref: text,
      form: null,
      campaign: null,
      submitted_at: new Date(1),
      accepted_at: new Date(2),
      deadline_at: new Date(3),
      policy: text,
      payload_hmac: text,
      consent: true,
      test: false,
      destinations: [text],
    };
    const bytes = offline.encode(LeadAcceptedEvent, lead);
    expect(offline.decode(LeadAcceptedEvent, bytes)).toEqual(lead);
    const { schema } = await registry(`/schemas/ids/${bytes.readInt32BE(1)}`);
    expect(JSON.parse(String(schema))).toEqual(JSON.parse(readFileSync(accepted, 'utf8')));
    const stranger = createCodec({ known: [], registryUrl });
    expect(await stranger.decode(LeadAcceptedEvent, bytes)).toEqual(lead);
    const unknown = Buffer.from(bytes);
    unknown.writeInt32BE(999_999, 1);
    await expect((async () => stranger.decode(LeadAcceptedEvent, unknown))()).rejects.toMatchObject({ reason: 'unknown_schema' });
  });
});
