import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LeadAccepted, LeadPayload } from '#contracts';
import { type Connector, createConnector, type OperationCall } from '#destinations';
import { type DestinationConfig, hmacs, parseSite } from '#runtime';
import type { Tryton } from './start-tryton.js';
import { trytonRobot } from './tryton-place.js';

/** A connector of its own to a Tryton, under the settings of a site file. */
export function connectTo(
  tryton: Pick<Tryton, 'url' | 'database' | 'employees'>,
  { user = trytonRobot, url = tryton.url, ...settings }: { user?: typeof trytonRobot; url?: string } & Record<string, unknown> = {},
): Connector {
  const config = destinationConfig({
    connector: 'tryton',
    sandbox: true,
    operations: ['contact', 'lead'],
    base_url: url,
    secret: { file: 'tryton-password' },
    tryton: { database: tryton.database, user: user.user, employees: tryton.employees },
    ...settings,
  });
  const secretsDir = mkdtempSync(join(tmpdir(), 'tryton-secret-'));
  writeFileSync(join(secretsDir, 'tryton-password'), user.password);
  return createConnector({
    name: 'tryton',
    config,
    secretsDir,
    hmacs: hmacs(Buffer.alloc(32, 1)),
    ownerOf: ({ form }) => owners[form ?? ''],
  });
}

/** Owner by form. */
const owners: Record<string, string> = { contact: 'ada', demo: 'grace' };

function destinationConfig(destination: Record<string, unknown>): DestinationConfig {
  const sources = [{ id: 'website', organization: 'demo' }];
  const people = { ada: { name: 'Ada Sales' }, grace: { name: 'Grace Sales' } };
  const site = parseSite(JSON.stringify({ sources, destinations: { tryton: destination }, owners: people }), {});
  const { tryton } = site.destinations;
  if (tryton === undefined) throw new Error('the site has no destination');
  return tryton;
}

export interface Enquiry {
  person?: string;
  name?: string;
  email?: string;
  phone?: string;
  message?: string;
  form?: string;
}

let count = 0;

/** A call of the lead's contact operation; the lead's own follows from it with `kind` and `refs`. */
export function contactCall({ person = `person-${count++}`, ...enquiry }: Enquiry = {}): OperationCall {
  const eventId = randomUUID();
  const { name = 'Ada Lovelace', email = `${person}@example.test`, phone = '+12025550101', message, form = 'contact' } = enquiry;
  const payload: LeadPayload = {
    contact: { name, email, phone },
    message,
    form: 'Contact form',
    campaign: 'Spring',
    custom: { budget: 20 },
    consent: { given: true },
    submitted_at: '2026-11-30T10:00:00.000Z',
    source: 'website',
    source_event_id: eventId,
    person_key: createHash('md5').update(person).digest('hex'),
  };
  return {
    kind: 'contact',
    operationKey: `${eventId}:tryton:contact`,
    event: eventOf(eventId, form),
    payload,
    refs: {},
    trace: {
      traceId: '0'.repeat(31).concat('1'),
      spanId: '0'.repeat(15).concat('1'),
      traceparent: `00-${'0'.repeat(31)}1-${'0'.repeat(15)}1-01`,
    } as OperationCall['trace'],
    timeoutMs: 20_000,
  };
}

export function leadCall(of: OperationCall, contact: string): OperationCall {
  return { ...of, kind: 'lead', operationKey: `${of.event.event_id}:tryton:lead`, refs: { contact }, contact: undefined };
}

function eventOf(eventId: string, form: string): LeadAccepted {
  const at = new Date('2026-11-30T10:00:00Z');
  return {
    event_id: eventId,
    event_type: 'lead.accepted',
    version: 1,
    lead_ref: `lead-${eventId}`,
    organization: 'demo',
    source: 'website',
    source_event_ref: 'ref',
    form,
    campaign: 'spring',
    submitted_at: at,
    accepted_at: at,
    deadline_at: new Date(at.getTime() + 4 * 3_600_000),
    policy: 'default',
    payload_hmac: 'v1:0',
    consent: true,
    test: false,
    destinations: ['tryton'],
  };
}
