import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { scanStack } from '../privacy/scan-stack.js';
import { eventually } from '../support/eventually.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';
import { leadBody, submitted } from '../support/traffic.js';
import { publishV2, registerV2, republishAsV2, v1File, v2Defaults, v2File } from './accepted-topic.js';
import { codecs, ForeignClient, type Language, languages } from './foreign-clients.js';

/** The examples in three languages, which share no code with this repository, against a whole stack: what they hand in is accepted, and they read what is announced. */
let stack: OpenStack;
const folder = mkdtempSync(join(tmpdir(), 'foreign-clients-'));
const clients = new Map<Language, ForeignClient>();
const client = (language: Language): ForeignClient => clients.get(language) as ForeignClient;

beforeAll(async () => {
  stack = await openStack();
  const { kafkaBrokers, schemaRegistry } = stack.endpoints();
  const env = { KAFKA_BROKERS: kafkaBrokers, SCHEMA_REGISTRY_URL: schemaRegistry };
  for (const language of languages) clients.set(language, await ForeignClient.install(language, env));
}, 600_000);

afterAll(async () => {
  rmSync(folder, { recursive: true });
  await stack?.close();
}, closeMs);

/** Event id of an accepted lead, once intake has it. */
function acceptedId(sourceEventId: string): Promise<string> {
  return eventually(async () => {
    const { status, body } = await stack.intake.get(`/v1/leads?source_event_id=${sourceEventId}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'accepted', event_id: expect.any(String) });
    return String(body.event_id);
  }, 30_000);
}

function deliveredTo(sourceEventId: string, destination: string): Promise<void> {
  return eventually(async () => {
    const { body } = await stack.intake.get(`/v1/leads?source_event_id=${sourceEventId}`);
    expect(body.deliveries).toContainEqual(expect.objectContaining({ destination, state: 'delivered' }));
  }, 30_000);
}

/** Events that every reader must see. */
const announced = new Set<string>();

describe('a client that shares no code with us', () => {
  it.each(languages)(
    'hands leads in with every codec, in %s',
    async (language) => {
      const leadFile = join(folder, `lead-${language}.json`);
      const { submitted_at, ...lead } = submitted('', languages.indexOf(language));
      writeFileSync(leadFile, JSON.stringify({ ...lead, submitted_at: new Date(Number(submitted_at)).toISOString() }));
      for (const codec of codecs) {
        const landed = await client(language).produce({ codec, sourceEventId: `${language}-${codec}`, leadFile });
        expect(landed).toMatchObject({ topic: 'leads', codec, source_event_id: `${language}-${codec}` });
      }
      for (const codec of codecs) announced.add(await acceptedId(`${language}-${codec}`));
      await deliveredTo(`${language}-zstd`, 'sandbox-crm');
    },
    200_000,
  );

  it('leaves no schema behind that its owner has not registered', async () => {
    const subjects = (await (await fetch(`${stack.endpoints().schemaRegistry}/subjects`)).json()) as string[];
    expect(subjects.sort()).toEqual(['lead.accepted-value', 'lead.resolved-value', 'leads-value']);
    for (const subject of subjects) {
      expect(await (await fetch(`${stack.endpoints().schemaRegistry}/subjects/${subject}/versions`)).json()).toEqual([1]);
    }
  });

  describe('with two versions of lead.accepted on the live topic', () => {
    let v2: Record<string, unknown>[] = [];
    let v2Id = 0;

    beforeAll(async () => {
      const { kafkaBrokers, schemaRegistry } = stack.endpoints();
      v2Id = await registerV2(schemaRegistry);
      v2 = await publishV2(kafkaBrokers, v2Id, 12);
      for (const event of v2) announced.add(String(event.event_id));
      // Older writers go on beside newer ones while a release is rolled out.
      const { body } = await stack.intake.post(leadBody('contract-after-v2', 3));
      announced.add(String(body.event_id));
      await deliveredTo('contract-after-v2', 'sandbox-crm');
    }, 60_000);

    it.each(languages)(
      'reads both through the schema of v1, in %s',
      async (language) => {
        const read = await client(language).read({ count: announced.size, group: `contract-${language}-v1`, schemaFile: v1File });
        expect(read.map(({ event }) => event.event_id).sort()).toEqual([...announced].sort());
        const { language: _, priority: __, ...withoutNewFields } = v2[5] as Record<string, unknown>;
        const found = read.find(({ event }) => event.event_id === withoutNewFields.event_id);
        expect(found).toEqual({ writer_schema_id: v2Id, event: withoutNewFields });
      },
      100_000,
    );

    it.each(languages)(
      'reads both through the schema of v2, in %s',
      async (language) => {
        const read = await client(language).read({ count: announced.size, group: `contract-${language}-v2`, schemaFile: v2File });
        expect(read.find(({ event }) => event.event_id === v2[5]?.event_id)?.event).toEqual(v2[5]);
        const older = read.filter(({ writer_schema_id }) => writer_schema_id !== v2Id);
        expect(older).toHaveLength(announced.size - v2.length);
        for (const { event } of older) expect(event).toMatchObject(v2Defaults);
      },
      100_000,
    );

    it('our own services read v2 as well: an event announced again by a later release has no second effect', async () => {
      const { kafkaBrokers } = stack.endpoints();
      const eventId = await acceptedId('contract-after-v2');
      await republishAsV2(kafkaBrokers, v2Id, eventId);
      // The same person has the same key, hence the same partition: once this lead is delivered, the repeat before it was handled.
      await stack.intake.post(leadBody('contract-behind-repeat', 3));
      await deliveredTo('contract-behind-repeat', 'sandbox-crm');
      expect(await stack.sandbox.leads(eventId)).toHaveLength(1);
    }, 100_000);
  });

  it('has left no personal data behind but in the vault and on leads', async () => {
    await scanStack(stack.stack);
  }, 120_000);
});
