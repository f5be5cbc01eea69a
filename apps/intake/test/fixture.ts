import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EventDescriptor, LeadAcceptedEvent, LeadResolvedEvent, LeadSubmittedEvent } from '#contracts';
import { createCodec, type KnownSchema } from '#messaging';
import {
  createLogger,
  type Database,
  type DestinationConfig,
  hmacs,
  KeyRing,
  migrateService,
  openDatabase,
  type Site,
  type SourceConfig,
  startTelemetry,
} from '#runtime';
import type { AcceptTools } from '../src/accept-leads.js';
import { DatabaseClock } from '../src/database-clock.js';
import { entities } from '../src/entities/index.js';
import { migrations } from '../src/migrations/index.js';
import type { Submission } from '../src/submission/normalise.js';

const known = [LeadSubmittedEvent, LeadAcceptedEvent, LeadResolvedEvent].map(
  (event: EventDescriptor<unknown>, index): KnownSchema => ({
    subject: event.subject,
    version: event.schemaVersion,
    id: index + 1,
    schema: event.schema,
  }),
);

export const codec = createCodec({ known });
export const silent = createLogger('intake', 'silent');

export const source = (changes: Partial<SourceConfig> = {}): SourceConfig => ({
  id: 'website',
  organization: 'demo',
  keyHashes: [],
  country: 'US',
  trustedTrace: true,
  requestsPerSecond: 100_000,
  ...changes,
});

const destination = (name: string, changes: Partial<DestinationConfig>): DestinationConfig => ({
  name,
  connector: 'webhook',
  primary: false,
  sandbox: false,
  requiresConsent: false,
  operations: ['lead'],
  baseUrl: 'http://127.0.0.1:1',
  secret: { env: 'UNUSED' },
  nativeIdempotency: true,
  lookup: {},
  paths: { lead: '/leads' },
  updates: {},
  protectedFields: [],
  errors: [],
  timeoutMs: 10_000,
  connectTimeoutMs: 2_000,
  lookupTimeoutMs: 10_000,
  maxExecutionMs: 60_000,
  searchLagMs: 30_000,
  uncertainHorizonMs: 1_800_000,
  keyRetentionMs: 86_400_000,
  backoff: { baseMs: 15_000, capMs: 300_000 },
  breaker: { coolDownMs: 15_000, longestCoolDownMs: 60_000 },
  retryBudget: 0.2,
  concurrency: 8,
  ...changes,
});

/** Forms: `contact` goes to a CRM and, with consent, to marketing; `live` to a CRM that test leads must not reach; anything else nowhere. */
export const site = (changes: Partial<Site> = {}): Site => ({
  sources: [source(), source({ id: 'partner-feed', trustedTrace: false })],
  routing: [
    { match: { form: 'contact' }, destinations: ['crm', 'marketing'], chat: 'sales', owner: 'ada', policy: 'default' },
    { match: { form: 'live' }, destinations: ['live-crm'], owner: 'bob', policy: 'strict' },
    { match: { form: 'newsletter' }, destinations: ['marketing'], owner: 'bob', policy: 'default' },
  ],
  destinations: {
    crm: destination('crm', { primary: true, sandbox: true }),
    marketing: destination('marketing', { sandbox: true, requiresConsent: true }),
    'live-crm': destination('live-crm', { primary: true }),
  },
  policies: {
    default: { name: 'default', attempts: 4, deadlineMs: 4 * 3_600_000, maxAgeMs: 7 * 86_400_000 },
    strict: { name: 'strict', attempts: 4, deadlineMs: 15 * 60_000, maxAgeMs: 7 * 86_400_000 },
  },
  channels: {},
  owners: { ada: { id: 'ada', name: 'Sales duty' }, bob: { id: 'bob', name: 'Second duty' } },
  operator: { policies: {} },
  retention: { vaultMs: 400 * 86_400_000 },
  limits: { bodyBytes: 262_144 },
  ...changes,
});

export const submission = (changes: Partial<Submission> = {}): Submission => ({
  organization: 'demo',
  source: 'website',
  sourceEventId: `web-${randomBytes(8).toString('hex')}`,
  form: 'contact',
  formSlug: 'contact',
  campaign: 'autumn',
  campaignSlug: 'autumn',
  contact: { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550123' },
  message: 'Please call me',
  consent: { given: true },
  custom: {},
  test: false,
  ...changes,
});

/** A key ring, of one fresh key unless told otherwise, in a folder of its own. */
export function keyRing(current = 'k1', keys: Record<string, Buffer> = { k1: randomBytes(32) }): KeyRing {
  const file = join(mkdtempSync(join(tmpdir(), 'intake-')), 'keyring.json');
  const encoded = Object.fromEntries(Object.entries(keys).map(([id, key]) => [id, key.toString('base64')]));
  writeFileSync(file, JSON.stringify({ current, keys: encoded }), { mode: 0o600 });
  return KeyRing.fromFile(file);
}

export async function openIntakeDatabase(url: string, poolSize = 6): Promise<Database> {
  await migrateService({ url, service: 'intake', migrations });
  return openDatabase({ url, role: 'ld_intake', schema: 'intake', applicationName: 'intake-test', poolSize, entities });
}

export function acceptTools(db: Database, changes: Partial<AcceptTools> = {}): AcceptTools {
  return {
    db,
    clock: new DatabaseClock(db),
    codec,
    hmacs: hmacs(randomBytes(32)),
    ring: keyRing(),
    site: site(),
    telemetry: startTelemetry({ service: 'intake', ratio: 1 }),
    relayWake: () => {},
    ...changes,
  };
}
