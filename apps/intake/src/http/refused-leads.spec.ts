import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { metrics } from '#runtime';
import { eventually } from '#testkit';
import { doorKey, openDoor } from '../../test/open-door.js';
import type { Acceptance } from '../accept-leads.js';

/** What the door says of leads that are not accepted, and what it counts of them; behind it stands one made-up answer. */
let app: NestFastifyApplication;
let answer: Acceptance;
/** What became of each request that the door is done with. */
let done: string[];
const eventId = '0190aaaa-0000-7000-8000-000000000000';

beforeAll(async () => {
  app = await openDoor({
    source: 'refused-leads',
    parts: { acceptance: { accept: () => Promise.resolve(answer) } as never },
    onSubmission: (_source, outcome) => done.push(outcome),
  });
});
afterAll(() => app?.close());
beforeEach(() => {
  answer = { kind: 'invalid', errors: [] };
  done = [];
});

const lead = (changes: object = {}): object => ({
  source_event_id: 'web-1',
  contact: { name: 'Ada Example' },
  consent: { given: true },
  ...changes,
});

async function post(body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${await app.getUrl()}/v1/leads`, {
    method: 'POST',
    headers: { authorization: `Bearer ${doorKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const json = (await response.json()) as { type: string; errors?: { field: string; problem: string; fix: string }[] };
  return { status: response.status, type: json.type.slice(json.type.lastIndexOf(':') + 1), errors: json.errors ?? [] };
}

/** Requests of the source that were counted, by outcome. */
async function counted(): Promise<Record<string, number>> {
  const { values } = await metrics.intakeRequests.get();
  const own = values.filter(({ labels }) => labels.source === 'refused-leads');
  return Object.fromEntries(own.map(({ labels, value }) => [labels.outcome, value]));
}

describe('a lead that is refused', () => {
  it.each<[string, object, string]>([
    ['a field that there is not', { mesage: 'x' }, 'invalid'],
    ['a value that is not valid', { contact: { email: 'not an address' } }, 'invalid'],
    ['no id', { source_event_id: null }, 'missing-id'],
  ])('is counted, but no test lead: %s', async (_name, changes, outcome) => {
    const before = await counted();
    expect((await post(lead({ ...changes, test: true }))).type).toBe(outcome);
    expect((await post(lead(changes))).type).toBe(outcome);
    await eventually('both counted or not', () => done.length === 2);
    expect(await counted()).toEqual({ ...before, [outcome]: (before[outcome] ?? 0) + 1 });
  });

  it('names the header where its id came by the header', async () => {
    const long = 'x'.repeat(256);
    const byHeader = await post(lead({ source_event_id: undefined }), { 'idempotency-key': long });
    expect([byHeader.status, byHeader.errors.map(({ field }) => field)]).toEqual([422, ['Idempotency-Key']]);
    const inBody = await post(lead({ source_event_id: long }));
    expect([inBody.status, inBody.errors.map(({ field }) => field)]).toEqual([422, ['source_event_id']]);
  });

  it('that takes consent back under a used id is told where to withdraw it, and any other how to send the change', async () => {
    answer = { kind: 'conflict', eventId, consentAlone: true };
    const withdrawal = await post(lead({ consent: { given: false } }));
    expect([withdrawal.status, withdrawal.type]).toEqual([422, 'idempotency-conflict']);
    expect(withdrawal.errors.map(({ fix }) => fix)).toEqual([expect.stringContaining(`POST /v1/leads/${eventId}/consent`)]);
    answer = { kind: 'conflict', eventId };
    expect((await post(lead())).errors.map(({ fix }) => fix)).toEqual([expect.stringContaining('supersedes')]);
  });
});
