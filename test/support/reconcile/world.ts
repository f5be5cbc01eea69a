import pg from 'pg';
import { z } from 'zod';
import { LeadAcceptedEvent, type VaultReadItem } from '#contracts';
import { type WindowItem, windowRequest, windowRoute } from '#delivery';
import { type Connector, createConnector } from '#destinations';
import {
  type Database,
  type DestinationConfig,
  type InternalServer,
  migrateService,
  parseSite,
  type Site,
  startInternalServer,
} from '#runtime';
import { testDatabase } from '#testkit';
import { migrations } from '../../../apps/reconciler/src/migrations/index.js';
import { type OpenSandbox, openSandbox } from '../../../apps/sandbox/src/spec/open-sandbox.js';
import { openDeliveryDatabase } from '../delivery-rig.js';
import { fillDeliveries } from './fill.js';
import { codec, keyed, type MadeLead, makeLeads, personOf, silent, token } from './leads.js';

process.env.RECONCILER_SPEC_SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const secret = process.env.RECONCILER_SPEC_SECRET;

export interface WorldOptions {
  leads: number;
  /** Leads on a page; default 200. */
  page?: number;
  /** Calls a second; default 10,000. */
  rate?: number;
  /** Numbers of leads that the CRM said yes to and never wrote. */
  dropped?: readonly number[];
}

/** crm-writer's tables, a CRM that holds what they say, and the internal APIs of the services that a comparison reads. */
export interface World {
  site: Site;
  /** What the site was read from. */
  document: object;
  databaseUrl: string;
  /** Of the internal APIs, all of them at one address. */
  url: string;
  leads: readonly MadeLead[];
  /** crm-writer's own. */
  deliveries: Database;
  crm: OpenSandbox;
  /** Events that nobody was told of. */
  untold: Set<string>;
  /** Events that somebody was told of only now. */
  toldLate: Set<string>;
  /** Lead references that were erased. */
  erased: Set<string>;
  close(): Promise<void>;
}

const minute = 60_000;

export async function openWorld(options: WorldOptions): Promise<World> {
  const crm = await openSandbox({ crmSecret: secret });
  const document = documentOf(crm.url, options);
  const site = parseSite(JSON.stringify(document), {});
  const config = site.destinations.crm as DestinationConfig;
  const connector = createConnector({ name: 'crm', config, secretsDir: '/', hmacs: keyed });
  const leads = makeLeads(options.leads, Date.now() - 100 * minute - options.leads * 10);
  await fillCrm(crm, connector, { leads, dropped: new Set(options.dropped) });
  const database = await testDatabase('reconciler');
  const deliveries = await openDeliveryDatabase(database.url);
  await fillDeliveries(deliveries, leads, ({ event, payload }) => connector.contactFields(event, payload));
  await analyze(database.url);
  await connector.close();
  await migrateService({ url: database.url, service: 'reconciler', migrations });
  const untold = new Set<string>();
  const toldLate = new Set<string>();
  const erased = new Set<string>();
  const server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens: { reconciler: token }, readiness: [], logger: silent });
  serve(server, { deliveries, leads, untold, toldLate, erased });
  return {
    site,
    document,
    databaseUrl: database.url,
    url: `http://127.0.0.1:${server.port}`,
    leads,
    deliveries,
    crm,
    untold,
    toldLate,
    erased,
    close: async () => {
      await server.stop();
      await deliveries.close();
      await crm.close();
      await database.drop();
    },
  };
}

/** As autovacuum would have done by the time that so much was delivered. */
async function analyze(url: string): Promise<void> {
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  await owner.query('ANALYZE crm_writer.delivery, crm_writer.operation, crm_writer.attempt, crm_writer.contact_state');
  await owner.end();
}

function documentOf(url: string, { page = 200, rate = 10_000 }: WorldOptions): object {
  return {
    sources: [{ id: 'website', organization: 'demo' }],
    routing: [{ match: {}, destinations: ['crm'], chat: 'sales', owner: 'ada' }],
    destinations: {
      crm: {
        connector: 'webhook',
        primary: true,
        operations: ['contact', 'lead'],
        base_url: `${url}/crm`,
        secret: { env: 'RECONCILER_SPEC_SECRET' },
        lookup: { contact: '/contacts?person_key={person_key}', lead: '/leads?external_id={external_id}' },
        reading: {
          limit: 200,
          many: {
            contact: { keys: '/contacts?person_key={person_keys*}', refs: '/contacts?id={refs*}' },
            lead: { keys: '/leads?external_id={external_ids*}', refs: '/leads?id={refs*}' },
          },
          changed_since: {
            contact: '/contacts?changed_since={from}&changed_before={to}&limit={limit}&cursor={cursor}',
            lead: '/leads?changed_since={from}&changed_before={to}&limit={limit}&cursor={cursor}',
          },
        },
        max_execution: '100ms',
        search_lag: '100ms',
        reconcile: { rate, page, overlap: '0s', status: { transitions: { new: ['contacted'], contacted: ['won'], won: [] } } },
      },
    },
    channels: { sales: { kind: 'telegram', api_url: url, token: { env: 'RECONCILER_SPEC_SECRET' }, chat_id: '-1' } },
    owners: { ada: { name: 'Sales duty' } },
  };
}

/** Records as our own writes would have left them; the person's as the last lead of theirs did. */
async function fillCrm(
  crm: OpenSandbox,
  connector: Connector,
  { leads, dropped }: { leads: readonly MadeLead[]; dropped: ReadonlySet<number> },
): Promise<void> {
  const perCall = 2_000;
  for (let at = 0; at < leads.length; at += perCall) {
    const some = leads.slice(at, at + perCall);
    const newest = [...new Map(some.map((lead) => [personOf(lead.n), lead])).values()];
    const persons = newest.map(({ event, payload }) => ({
      ...connector.expected?.({ kind: 'contact', event, payload, refs: {} }).fields,
      person_key: payload.person_key,
    }));
    const contactRefs = await typeIn(crm, 'contact', persons);
    const refOf = new Map(newest.map(({ payload }, index) => [payload.person_key, contactRefs[index] ?? '']));
    for (const lead of some) lead.contactRef = refOf.get(lead.payload.person_key) ?? '';
    const written = some.filter(({ n }) => !dropped.has(n));
    const leadRefs = await typeIn(
      crm,
      'lead',
      written.map(({ event, payload, contactRef }) => ({
        ...connector.expected?.({ kind: 'lead', event, payload, refs: { contact: contactRef } }).fields,
        external_id: event.event_id,
        contact_id: contactRef,
      })),
    );
    for (const lead of some) lead.leadRef = `lead_never_${lead.n}`;
    written.forEach((lead, index) => {
      lead.leadRef = leadRefs[index] ?? '';
    });
  }
}

/** By our own credentials. */
export async function typeIn(
  crm: OpenSandbox,
  kind: 'lead' | 'contact',
  records: readonly object[],
  by: 'us' | 'other' = 'us',
): Promise<string[]> {
  const { body, status } = await crm.call(`POST /crm/control/records/${kind}?by=${by}`, records);
  if (status !== 201) throw new Error(`the sandbox answered ${status}`);
  return (body as { ids: string[] }).ids;
}

interface Served {
  deliveries: Database;
  leads: readonly MadeLead[];
  untold: ReadonlySet<string>;
  toldLate: ReadonlySet<string>;
  erased: ReadonlySet<string>;
}

const items = (name: string) => z.object({ items: z.array(z.record(z.string(), z.string())).max(500) }).describe(name);

function serve(server: InternalServer, { deliveries, leads, untold, toldLate, erased }: Served): void {
  const callers = ['reconciler'];
  const byRef = new Map(leads.map((lead) => [lead.event.lead_ref, lead]));
  const known = new Set(leads.map(({ event }) => event.event_id));
  const decode = (event: Buffer) => codec.decode(LeadAcceptedEvent, event);
  const window = windowRoute({ db: deliveries, decode, logger: silent });
  server.route('/internal/v1/deliveries:window', { callers, body: windowRequest }, async (body) => {
    // A notifier is asked by events alone.
    if (body.destination !== undefined) return window(body);
    const ids = (body.event_ids ?? []).filter((id) => !untold.has(id));
    return { items: ids.map((id) => (toldLate.has(id) ? told(id, new Date()) : told(id))) };
  });
  server.route('/internal/v1/vault:read', { callers, body: items('leads') }, async (body) => ({
    items: body.items.map(({ lead_ref = '' }): VaultReadItem => {
      const lead = byRef.get(lead_ref);
      if (lead === undefined || erased.has(lead_ref)) return { lead_ref, status: 410, revision: 0 };
      return { lead_ref, status: 200, revision: 1, payload: lead.payload };
    }),
  }));
  server.route('/internal/v1/leads:sources', { callers, body: items('events') }, async (body) => ({
    items: body.items
      .filter(({ event_id = '' }) => known.has(event_id))
      .map(({ event_id }) => ({ event_id, organization: 'demo', source: 'website' })),
  }));
}

/** @param at when; not later than the lead's end where it is not said. */
function told(eventId: string, at = new Date(0)): Pick<WindowItem, 'event_id' | 'destination' | 'state' | 'finished_at' | 'operations'> {
  return {
    event_id: eventId,
    destination: 'lead/sales/0/lead_delivered',
    state: 'delivered',
    finished_at: at.toISOString(),
    operations: [],
  };
}
