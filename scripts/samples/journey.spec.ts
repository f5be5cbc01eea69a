import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Endpoints } from '#testkit';
import { followJourneys } from './journey.js';
import { samplePeople } from './people.js';

/** Intake, CRM and chat of one sample, in one server. */
let server: Server;
let asked: string[];
/** Looks that find nothing, then looks that find the lead under way, before it has arrived. */
let unknownFor: number;
let underWayFor: number;

beforeEach(async () => {
  asked = [];
  unknownFor = 2;
  underWayFor = 2;
  server = createServer((request, response) => {
    const path = request.url ?? '';
    const isJourney = path.startsWith('/v1/leads');
    if (isJourney) asked.push(path);
    if (isJourney && asked.length <= unknownFor) {
      response.writeHead(404).end();
      return;
    }
    response.end(JSON.stringify(isJourney ? journey() : things(path)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
});

const at = '2026-01-31T09:30:00.000Z';
const journey = () => ({
  event_id: 'e-1',
  lead_ref: 'L-1',
  accepted_at: at,
  deliveries: [
    { destination: 'crm', state: asked.length <= unknownFor + underWayFor ? 'in_flight' : 'delivered', as_of: at, operations: [] },
  ],
});
const things = (path: string): object[] =>
  path.startsWith('/chat') ? [{ message_id: 1, received_at: at, text: 'L-1' }] : [{ id: 'r-1', received_at: at }];

describe('what becomes of a sample lead', () => {
  it('is asked for by its event id as soon as that is known', async () => {
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const endpoints = { intake: base, sandboxCrm: `${base}/crm`, sandboxChat: `${base}/chat`, sourceKey: 'key-one' } as Endpoints;
    const [sample] = samplePeople('x');
    const lines: string[] = [];
    await followJourneys(endpoints, [sample], (line) => lines.push(line));
    const bySource = '/v1/leads?source_event_id=web-x-1';
    expect(asked.slice(0, 3)).toEqual([bySource, bySource, bySource]);
    expect(new Set(asked.slice(3))).toEqual(new Set(['/v1/leads/e-1']));
    expect(lines.join('\n')).toContain('accepted as L-1, event e-1');
  });
});
