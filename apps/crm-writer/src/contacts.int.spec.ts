import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type LeadAccepted, LeadAcceptedEvent, type LeadPayload, LeadResolvedEvent } from '#contracts';
import { type Contacts, createContacts, DeliveryEngine, settleContactOf, Verifier } from '#delivery';
import { type Connector, createConnector } from '#destinations';
import { createCodec, type Received } from '#messaging';
import {
  createLogger,
  type Database,
  type DestinationConfig,
  hmacs,
  newEventId,
  newLeadRef,
  parseSite,
  type Site,
  startTelemetry,
} from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { openControl, openDeliveryDatabase, RigReceipt, until } from '../../../test/support/delivery-rig.js';
import { DestinationTarget } from './destination-target.js';
import { sweptDestination, verifiedDestination } from './swept-destinations.js';

const known = [LeadAcceptedEvent, LeadResolvedEvent].map(({ subject, schemaVersion: version, schema }, id) => ({
  subject,
  version,
  schema,
  id,
}));
const codec = createCodec({ known });
const logger = createLogger('contacts', 'silent');
const personKey = 'v1:0f0f';
const searchLagMs = 1_000;

const siteText = (port: number, { native, updates }: { native: boolean; updates: boolean }) => `
sources: [{ id: website, organization: demo }]
destinations:
  crm:
    connector: webhook
    operations: [contact, lead]
    base_url: http://127.0.0.1:${port}
    secret: { file: crm-secret }
    native_idempotency: ${native}
    lookup: { contact: "/contacts?person_key={person_key}", lead: "/leads?external_id={external_id}" }
    updates: ${updates ? '{ contact: { path: "/contacts/{ref}" } }' : '{}'}
    protected_fields: [custom.account_owner]
    timeout_ms: 500
    max_execution: 100ms
    search_lag: ${searchLagMs}ms
    backoff: { base: 50ms, cap: 200ms }
`;

interface Kept {
  id: string;
  at: number;
  fields: Record<string, unknown>;
}

/** A CRM that plainly creates, unless it knows keys, whose search lags, and whose next answers a test can spoil. */
class PlainCrm {
  readonly contacts: Kept[] = [];
  readonly leads: Kept[] = [];
  /** What happens to the next contact writes: lost after the commit, dropped before it, taken without an answer's body, refused with a status, answered after a while. */
  readonly next: ('lost' | 'dropped' | 'silent' | number | { afterMs: number })[] = [];
  writes = 0;
  /** Keys of what was taken without a body: a repeat gets the same answer. */
  private readonly silent = new Set<unknown>();

  constructor(private readonly native: boolean) {}

  handle(request: IncomingMessage, response: ServerResponse): void {
    let text = '';
    request.on('data', (chunk) => (text += String(chunk)));
    request.on('end', () => this.answer(request, response, text));
  }

  private answer({ method, url = '', headers }: IncomingMessage, response: ServerResponse, text: string): void {
    const { pathname, searchParams } = new URL(url, 'http://crm');
    const shelf = pathname.startsWith('/contacts') ? this.contacts : this.leads;
    if (method === 'GET') {
      const [[name, value] = ['', '']] = [...searchParams];
      const found = shelf.filter(({ at, fields }) => at <= performance.now() - searchLagMs && fields[name] === value);
      response.end(JSON.stringify(found.map(({ id }) => ({ id }))));
      return;
    }
    this.writes += 1;
    const key = headers['idempotency-key'];
    if (this.native && this.silent.has(key)) {
      response.writeHead(202).end();
      return;
    }
    const fault = shelf === this.contacts ? this.next.shift() : undefined;
    if (typeof fault === 'number') {
      response.writeHead(fault).end('{}');
      return;
    }
    if (fault === 'dropped') {
      response.destroy();
      return;
    }
    const fields = JSON.parse(text) as Record<string, unknown>;
    const id = method === 'PATCH' ? pathname.slice('/contacts/'.length) : `${pathname.slice(1)}-${this.writes}`;
    const record = shelf.find((one) => one.id === id);
    if (record === undefined && method === 'PATCH') {
      response.writeHead(404).end('{}');
      return;
    }
    if (record === undefined) shelf.push({ id, at: performance.now(), fields });
    else Object.assign(record.fields, fields);
    if (fault === 'silent') this.silent.add(key);
    if (fault === 'lost') response.destroy();
    else if (fault === 'silent') response.writeHead(202).end();
    else setTimeout(() => response.writeHead(201).end(JSON.stringify({ id })), fault?.afterMs ?? 0);
  }
}

interface Lead {
  event: LeadAccepted;
  payload: LeadPayload;
}

describe('two leads of one person', () => {
  const folder = mkdtempSync(join(tmpdir(), 'contacts-'));
  const stopping: (() => Promise<unknown> | unknown)[] = [];
  const payloads = new Map<string, LeadPayload>();
  let database: TestDatabase;
  let db: Database;
  let server: Server;
  let crm: PlainCrm;
  let engine: DeliveryEngine<LeadAccepted>;
  let receipts: RigReceipt[] = [];

  beforeAll(async () => {
    writeFileSync(join(folder, 'crm-secret'), `whsec_${randomBytes(32).toString('base64')}`);
    database = await testDatabase('crm_contacts');
    db = await openDeliveryDatabase(database.url);
    server = createServer((request, response) => crm.handle(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await db.close();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(async () => {
    for (const receipt of receipts) receipt.stale = true;
    receipts = [];
    for (const stop of stopping.splice(0).reverse()) await stop();
    for (const table of ['delivery', 'operation', 'attempt', 'outbox', 'contact_state'])
      await db.sql(`clear.${table}`, `DELETE FROM ${table}`, []);
  });

  /** An engine, a verifier and the wake-ups between them, as one crm-writer has them. */
  function start({ native = false, updates = true } = {}): void {
    crm = new PlainCrm(native);
    const site: Site = parseSite(siteText((server.address() as AddressInfo).port, { native, updates }), {});
    const config = site.destinations.crm as DestinationConfig;
    const connector: Connector = createConnector({ name: 'crm', config, secretsDir: folder, hmacs: hmacs(Buffer.alloc(32, 1)) });
    const target = new DestinationTarget({ config, policies: site.policies, connector, codec });
    const telemetry = startTelemetry({ service: 'contacts', ratio: 1 });
    const relayWake = (): void => void relay();
    const contacts: Contacts = createContacts({ db, logger, wakeTopic: () => 'lead.accepted.crm.retry.15s', relayWake });
    const swept = verifiedDestination(sweptDestination(config, { site, codec }), target, { lookupTimeoutMs: config.lookupTimeoutMs });
    const verifier = new Verifier({
      db,
      target: () => swept,
      onChange: settleContactOf(contacts),
      relayWake,
      telemetry,
      logger,
      everyMs: 100,
    });
    engine = new DeliveryEngine<LeadAccepted>({
      db,
      target,
      destination: openControl(),
      vault: { read: async (refs) => refs.map((lead_ref) => ({ lead_ref, status: 200, revision: 1, payload: payloadOf(lead_ref) })) },
      contacts,
      group: 'crm-writer.crm',
      control: () => ({ pause: () => undefined, resume: () => undefined }),
      dlqTopic: 'dlq',
      wakeTopic: (tier) => `lead.accepted.crm.retry.${tier}`,
      relayWake,
      telemetry,
      logger,
    });
    verifier.start();
    stopping.push(
      () => connector.close(),
      () => contacts.stop(),
      () => verifier.stop(),
      () => engine.stop(2_000),
    );
  }

  const payloadOf = (leadRef: string): LeadPayload => {
    const payload = payloads.get(leadRef);
    if (payload === undefined) throw new Error('no such lead');
    return payload;
  };

  /** As relay and tier: wake-ups come to the engine, and again when it is their time. */
  async function relay(): Promise<void> {
    const rows = await db.sql<{ value: Buffer; key: Buffer; topic: string }>(
      'spec.relay',
      `DELETE FROM outbox WHERE topic LIKE '%.retry.%' RETURNING value, key, topic`,
      [],
    );
    for (const { value, key, topic } of rows) await take(value, { key, topic });
  }

  async function take(value: Buffer, { key, topic }: { key: Buffer; topic: string }): Promise<void> {
    const record = { topic, partition: 0, offset: 0n, key, value, headers: {}, timestampMs: Date.now() };
    const receipt = new RigReceipt(record);
    const event = await codec.decode(LeadAcceptedEvent, value);
    const received: Received<LeadAccepted> = { receipt, result: { ok: true, event } };
    receipts.push(receipt);
    receipt.again = () => {
      if (!receipt.stale) engine.take([received]);
    };
    engine.take([received]);
  }

  /** A lead of the person, submitted this long after the first. */
  function lead(afterMs: number, more: Partial<LeadPayload> = {}): Lead {
    const submitted = new Date(Date.now() - 60_000 + afterMs);
    const event: LeadAccepted = {
      event_id: newEventId(),
      event_type: 'lead.accepted',
      version: 1,
      lead_ref: newLeadRef(),
      organization: 'demo',
      source: 'website',
      source_event_ref: 'ref',
      form: 'contact',
      campaign: null,
      submitted_at: submitted,
      accepted_at: submitted,
      deadline_at: new Date(Date.now() + 3_600_000),
      policy: 'default',
      payload_hmac: 'v1:00',
      consent: true,
      test: false,
      destinations: ['crm'],
    };
    const payload: LeadPayload = {
      contact: { name: `Ada Example ${afterMs}`, email: 'ada@example.test' },
      custom: {},
      consent: { given: true },
      submitted_at: submitted.toISOString(),
      source: 'website',
      source_event_id: `web-${afterMs}`,
      person_key: personKey,
      ...more,
    };
    payloads.set(event.lead_ref, payload);
    return { event, payload };
  }

  const arrive = ({ event }: Lead): Promise<void> =>
    take(codec.encode(LeadAcceptedEvent, event), { key: Buffer.from(personKey), topic: 'lead.accepted' });
  const stateOf = async ({ event }: Lead): Promise<string | undefined> =>
    (await db.sql<{ state: string }>('spec.state', 'SELECT state FROM delivery WHERE event_id = $1', [event.event_id]))[0]?.state;
  const delivered = (...leads: Lead[]): Promise<void> =>
    until('all are delivered', async () => (await Promise.all(leads.map(stateOf))).every((state) => state === 'delivered'));
  const contactAttempts = ({ event }: Lead): Promise<{ outcome: string }[]> =>
    db.sql('spec.attempts', `SELECT outcome FROM attempt WHERE operation_key = $1 ORDER BY started_at`, [`${event.event_id}:crm:contact`]);

  it.each([false, true])('50 ms apart make one contact, also where the CRM plainly creates (native idempotency: %s)', async (native) => {
    start({ native });
    crm.next.push({ afterMs: 300 });
    const [first, second] = [lead(0), lead(50)];
    await arrive(first);
    await until('the first is at the CRM', () => crm.writes === 1);
    await arrive(second);
    await delivered(first, second);
    expect(crm.contacts.map(({ id, fields }) => [id, fields.name])).toEqual([['contacts-1', 'Ada Example 50']]);
    expect(crm.leads.map(({ fields }) => fields.contact_id)).toEqual(['contacts-1', 'contacts-1']);
    expect(await contactAttempts(second)).toEqual([{ outcome: 'succeeded' }]);
  });

  it('make one contact where the first answer is lost and the search finds it late', async () => {
    start();
    crm.next.push('lost');
    const [first, second] = [lead(0), lead(50)];
    await arrive(first);
    await until('the first is uncertain', async () => (await stateOf(first)) === 'uncertain');
    await arrive(second);
    await delivered(first, second);
    expect(crm.contacts).toHaveLength(1);
    expect(crm.leads).toHaveLength(2);
    // What is found may be older than the call: it is changed by its id.
    expect((await contactAttempts(first)).map(({ outcome }) => outcome)).toEqual(['uncertain', 'lookup_found', 'succeeded']);
    expect(await contactAttempts(second)).toEqual([{ outcome: 'succeeded' }]);
  });

  it.each([true, false])(
    'write what they bring to a contact that was there before, though a call was lost (changed by its id: %s)',
    async (updates) => {
      start({ updates });
      crm.contacts.push({ id: 'c-old', at: 0, fields: { person_key: personKey, name: 'Ada' } });
      crm.next.push('dropped');
      const only = lead(0);
      await arrive(only);
      await delivered(only);
      expect(crm.contacts.map(({ id, fields }) => [id, fields.name])).toEqual([['c-old', updates ? 'Ada Example 0' : 'Ada']]);
      expect(crm.leads.map(({ fields }) => fields.contact_id)).toEqual(['c-old']);
      // Without `updates` it is taken as it is, and nothing counts as written.
      await until(
        'the row is free',
        async () => (await db.sql('spec.free', 'SELECT FROM contact_state WHERE owner_key IS NULL', [])).length === 1,
      );
      const [row] = await db.sql<{ contact_ref: string; fields: object }>(
        'spec.contact',
        'SELECT contact_ref, fields FROM contact_state',
        [],
      );
      expect([row?.contact_ref, Object.hasOwn(row?.fields ?? {}, 'name')]).toEqual(['c-old', updates]);
    },
  );

  it.each([false, true])(
    'make one contact and hang on it where the CRM does not say its id and the search finds it late (native idempotency: %s)',
    async (native) => {
      start({ native });
      crm.next.push('silent');
      const [first, second] = [lead(0), lead(50)];
      await arrive(first);
      await until('the first is at the CRM', () => crm.writes === 1);
      await arrive(second);
      await delivered(first, second);
      expect(crm.contacts.map(({ fields }) => fields.name)).toEqual(['Ada Example 50']);
      expect(crm.leads.map(({ fields }) => fields.contact_id)).toEqual(['contacts-1', 'contacts-1']);
      const outcomes = (await contactAttempts(first)).map(({ outcome }) => outcome);
      expect(outcomes[0]).toBe('uncertain');
      // With a key it is called again meanwhile, and may be told by then.
      if (!native) expect(outcomes).toEqual(['uncertain', 'lookup_found']);
    },
  );

  it('make no second contact where the CRM took one and no lookup ever finds it', async () => {
    start();
    crm.next.push('silent');
    const only = lead(0);
    await arrive(only);
    await until('it is at the CRM', () => crm.contacts.length === 1);
    for (const contact of crm.contacts) contact.at = Number.POSITIVE_INFINITY;
    await delivered(only);
    expect(crm.contacts).toHaveLength(1);
    expect((await contactAttempts(only)).map(({ outcome }) => outcome)).toEqual(['uncertain', 'lookup_absent', 'lookup_absent']);
    expect(crm.leads).toHaveLength(1);
  });

  it('of which the older succeeds late keep what the newer wrote', async () => {
    start();
    const [older, newer] = [lead(0), lead(50)];
    payloadOf(older.event.lead_ref).contact.phone = '+12025550101';
    await arrive(newer);
    await delivered(newer);
    await arrive(older);
    await delivered(older);
    expect(crm.contacts.map(({ fields }) => fields)).toEqual([
      expect.objectContaining({ name: 'Ada Example 50', phone: '+12025550101', lead_ref: newer.event.lead_ref }),
    ]);
  });

  it('let the other go first where one provably did nothing yet', async () => {
    start();
    const [older, newer] = [lead(0), lead(50)];
    crm.next.push(425, 425, { afterMs: 100 });
    await arrive(older);
    await until('the older was refused', () => crm.writes > 0);
    await arrive(newer);
    await delivered(older, newer);
    expect(crm.contacts).toHaveLength(1);
    expect(crm.contacts[0]?.fields).toMatchObject({ name: 'Ada Example 50' });
  });

  it.each([false, true])('make a new contact where the known one is gone from the CRM (native idempotency: %s)', async (native) => {
    start({ native });
    const [first, second, third] = [lead(0), lead(50), lead(100)];
    await arrive(first);
    await delivered(first);
    crm.contacts.length = 0;
    await arrive(second);
    await delivered(second);
    await arrive(third);
    await delivered(third);
    expect(crm.contacts.map(({ fields }) => fields.name)).toEqual(['Ada Example 100']);
    expect(new Set(crm.leads.map(({ fields }) => fields.contact_id)).size).toBe(2);
  });

  it.each([false, true])(
    'make a new contact as well where a change without an answer stands before that (native idempotency: %s)',
    async (native) => {
      start({ native });
      const [first, second] = [lead(0), lead(50)];
      await arrive(first);
      await delivered(first);
      crm.contacts.length = 0;
      crm.next.push('dropped');
      await arrive(second);
      await delivered(second);
      expect(crm.contacts.map(({ fields }) => fields.name)).toEqual(['Ada Example 50']);
      expect(crm.leads.at(-1)?.fields.contact_id).toBe(crm.contacts[0]?.id);
    },
  );

  it('end as protected_field where one would write a field that only people may write', async () => {
    start();
    const careless = lead(0, { custom: { account_owner: 'mallory' } });
    await arrive(careless);
    await until('it is dead', async () => (await stateOf(careless)) === 'dead');
    const [row] = await db.sql('spec.dead', 'SELECT class, code FROM delivery WHERE event_id = $1', [careless.event.event_id]);
    expect(row).toEqual({ class: 'protected_field', code: 'custom.account_owner' });
    expect(crm.leads).toHaveLength(0);
    const dead = await db.sql<{ headers: Record<string, string> }>('spec.dlq', `SELECT headers FROM outbox WHERE topic = 'dlq'`, []);
    expect(dead.map(({ headers }) => headers['ld-error-class'])).toEqual(['protected_field']);
    const next = lead(50);
    await arrive(next);
    await delivered(next);
    expect(crm.contacts).toHaveLength(1);
  });
});
