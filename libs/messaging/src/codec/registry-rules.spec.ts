import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { applySchemas } from '../topology/apply-schemas.js';
import { registeredSchemas } from '../topology/registered-schemas.js';
import { RegistryUnavailable } from './errors.js';
import { registryClient, SchemaRefused } from './registry-client.js';

/**
 * Registries that differ in what they allow and in how they answer, as far as Apicurio cannot be made to: made up after the Confluent API's
 * published errors and what users of other registries reported.
 */
interface Manners {
  /** Field in which a level is told. */
  field?: string;
  /** Level of the subject at first. */
  level?: unknown;
  /** Refusals by "METHOD kind", where kind is look-up, versions or config. */
  refuses?: Record<string, { status: number; error_code: number; message: string }>;
}

interface Asked {
  method: string;
  url: string;
  body: Record<string, unknown> | undefined;
}

const subject = 'lead.accepted-value';
const v1 = { type: 'record', name: 'Lead', fields: [{ name: 'id', type: 'string' }] };
const v2 = { ...v1, fields: [...v1.fields, { name: 'utm', type: ['null', 'string'], default: null }] };
const denied = { status: 403, error_code: 40301, message: 'User is denied operation Write on Subject' };
const noLevel = { status: 404, error_code: 40408, message: 'Subject does not have subject-level compatibility configured' };

class MadeUpRegistry {
  readonly asked: Asked[] = [];
  readonly schemas: string[] = [];
  level: unknown;
  private readonly server: Server;

  constructor(private readonly manners: Manners) {
    this.level = manners.level;
    this.server = createServer((request, response) => {
      void read(request).then((asked) => {
        const { status, body } = this.answer(asked);
        response.writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' }).end(JSON.stringify(body));
      });
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** What was asked for that changes something. */
  changes(): string[] {
    return this.asked
      .filter(({ method, url }) => method === 'PUT' || url.endsWith('/versions'))
      .map(({ method, url }) => `${method} ${url}`);
  }

  private answer(asked: Asked): { status: number; body: object } {
    this.asked.push(asked);
    const { method, url, body } = asked;
    const kind = url.startsWith('/config/') ? 'config' : url.endsWith('/versions') ? 'versions' : 'look-up';
    const refusal = this.manners.refuses?.[`${method} ${kind}`];
    if (refusal !== undefined) return { status: refusal.status, body: refusal };
    if (kind === 'config') return this.config(method, body);
    const schema = String(body?.schema);
    if (kind === 'versions' && !this.schemas.includes(schema)) this.schemas.push(schema);
    const at = this.schemas.indexOf(schema);
    if (at >= 0) return { status: 200, body: { subject, id: at + 1, version: at + 1, schema } };
    return { status: 404, body: { error_code: 40403, message: 'Schema not found' } };
  }

  private config(method: string, body: Record<string, unknown> | undefined): { status: number; body: object } {
    if (method === 'PUT') {
      this.level = body?.compatibility;
      return { status: 200, body: { compatibility: this.level } };
    }
    if (this.level === undefined) return { status: 404, body: noLevel };
    return { status: 200, body: { [this.manners.field ?? 'compatibilityLevel']: this.level } };
  }
}

async function read(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    body: text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>),
  };
}

const opened: MadeUpRegistry[] = [];
let dir: string;

async function registryOf(manners: Manners = {}): Promise<{ registry: MadeUpRegistry; url: string }> {
  const registry = new MadeUpRegistry(manners);
  opened.push(registry);
  return { registry, url: await registry.open() };
}

const apply = (registryUrl: string) => applySchemas({ registryUrl, dir, databases: [] });

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'registry-rules-'));
  mkdirSync(path.join(dir, subject));
  for (const [at, schema] of [v1, v2].entries()) writeFileSync(path.join(dir, subject, `v${at + 1}.avsc`), JSON.stringify(schema));
});
afterEach(() => {
  for (const registry of opened.splice(0)) registry.close();
  rmSync(dir, { recursive: true });
});

describe('a subject that is locked', () => {
  it('is left as it is where it has all versions and the level that we would give it', async () => {
    const { registry, url } = await registryOf({ level: 'FULL_TRANSITIVE' });
    await apply(url);
    expect(registry.changes()).toEqual([`POST /subjects/${subject}/versions`, `POST /subjects/${subject}/versions`]);
    registry.asked.length = 0;
    expect((await apply(url)).map(({ id, registered }) => ({ id, registered }))).toEqual([
      { id: 1, registered: false },
      { id: 2, registered: false },
    ]);
    expect(registry.changes()).toEqual([]);
  });

  it('against new versions is named, with what the registry says', async () => {
    const refusal = { status: 422, error_code: 42205, message: 'Subject is in read-only mode' };
    const { url } = await registryOf({ refuses: { 'POST versions': refusal } });
    const failed = apply(url);
    await expect(failed).rejects.toBeInstanceOf(SchemaRefused);
    await expect(failed).rejects.toThrow(/lead\.accepted-value.*42205.*read-only/);
  });
});

describe('an account without the right to configure', () => {
  it('that may not set the level is told which subject has to have which', async () => {
    const { registry, url } = await registryOf({ level: 'BACKWARD', refuses: { 'PUT config': denied } });
    const failed = apply(url);
    await expect(failed).rejects.toBeInstanceOf(SchemaRefused);
    await expect(failed).rejects.toThrow(/lead\.accepted-value.*FULL_TRANSITIVE.*40301/);
    // Nothing goes in under rules that are not ours.
    expect(registry.schemas).toHaveLength(1);
  });

  it('that may not even read it is told so', async () => {
    const { url } = await registryOf({ level: 'FULL_TRANSITIVE', refuses: { 'GET config': denied } });
    const failed = apply(url);
    await expect(failed).rejects.toBeInstanceOf(SchemaRefused);
    await expect(failed).rejects.toThrow(/compatibility of lead\.accepted-value.*40301/);
  });

  it('goes on where it left off once somebody else has set the level', async () => {
    const refuses: Manners['refuses'] = { 'PUT config': denied };
    const { registry, url } = await registryOf({ refuses });
    await expect(apply(url)).rejects.toBeInstanceOf(SchemaRefused);
    registry.level = 'FULL_TRANSITIVE';
    expect((await apply(url)).map(({ registered }) => registered)).toEqual([false, true]);
  });
});

describe('the level of a subject', () => {
  it.each<[string, Manners, string | undefined]>([
    ['is none where the registry says so', {}, undefined],
    ['is read from the field of one registry', { level: 'FULL_TRANSITIVE', field: 'compatibilityLevel' }, 'FULL_TRANSITIVE'],
    ['and from that of another', { level: 'FULL_TRANSITIVE', field: 'compatibility' }, 'FULL_TRANSITIVE'],
    ['whatever its case', { level: 'full_transitive' }, 'FULL_TRANSITIVE'],
    ['is none where the answer holds null', { level: null }, undefined],
    ['is none where the answer holds no such field', { level: 'FULL_TRANSITIVE', field: 'rules' }, undefined],
    ['is none where the answer holds no text', { level: ['FULL_TRANSITIVE'] }, undefined],
  ])('%s', async (_name, manners, level) => {
    const { url } = await registryOf(manners);
    expect(await registryClient({ url, timeoutMs: 5_000 }).compatibility(subject)).toBe(level);
  });

  it.each<[string, Manners]>([
    ['no rule at all', {}],
    ['the rule of the whole registry, told as if it were the subject’s', { level: 'BACKWARD', field: 'compatibility' }],
    ['a rule of an unknown form', { level: null }],
  ])('is set on the subject itself where there is %s, before the second version goes in', async (_name, manners) => {
    const { registry, url } = await registryOf(manners);
    await apply(url);
    expect(registry.level).toBe('FULL_TRANSITIVE');
    expect(registry.changes()).toEqual([
      `POST /subjects/${subject}/versions`,
      `PUT /config/${subject}`,
      `POST /subjects/${subject}/versions`,
    ]);
  });

  it('that is not the one wanted is named by the check of a deployment, none as none', async () => {
    const { registry, url } = await registryOf();
    await apply(url);
    const check = async () => (await registeredSchemas({ registryUrl: url, dir })).map(({ name, problem }) => `${name} ${problem}`);
    expect(await check()).toEqual([]);
    registry.level = 'NONE';
    expect(await check()).toEqual([`${subject} has compatibility NONE instead of FULL_TRANSITIVE`]);
    registry.level = null;
    expect(await check()).toEqual([`${subject} has compatibility of the registry as a whole instead of FULL_TRANSITIVE`]);
  });
});

it('asks with the fields alone that every registry has always known', async () => {
  const { registry, url } = await registryOf();
  await apply(url);
  await apply(url);
  await registeredSchemas({ registryUrl: url, dir });
  const client = registryClient({ url, timeoutMs: 5_000 });
  await client.schemaById(1).catch((error: unknown) => expect(error).toBeInstanceOf(RegistryUnavailable));
  const forms = registry.asked.map(({ method, url: where, body }) => `${method} ${where} ${Object.keys(body ?? {}).join()}`);
  expect([...new Set(forms)].sort()).toEqual([
    `GET /config/${subject} `,
    'GET /schemas/ids/1 ',
    `POST /subjects/${subject} schema`,
    `POST /subjects/${subject}/versions schema`,
    `PUT /config/${subject} compatibility`,
  ]);
});
