import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { groups, headers, type LeadAccepted, LeadAcceptedEvent, topics, topology } from '#contracts';
import type { UnclaimedLeads as Found } from '#delivery';
import { type AdminPort, applyTopics, createCodec, createKafka, type KafkaPort, type OutgoingRecord } from '#messaging';
import { createLogger, newEventId, newLeadRef } from '#runtime';
import { testInfra, uniqueName } from '#testkit';
import { insertDelivery, openSweepRig, type SweepRig } from '../../../../test/support/sweep-rig.js';
import { UnclaimedLeads, type UnclaimedOptions } from './unclaimed-leads.js';

jest.setTimeout(90_000);

const logger = createLogger('unclaimed', 'silent');
const { subject, schemaVersion: version, schema } = LeadAcceptedEvent;
const codec = createCodec({ known: [{ subject, version, schema, id: 1 }] });
const minuteMs = 60_000;

describe('what lies unclaimed behind a group that reads nothing', () => {
  const destination = uniqueName('unclaimed');
  const group = groups.crmWriter(destination);
  const ownTopics = topology([destination]).topics.filter(({ name }) => name.includes(destination));
  let kafka: KafkaPort;
  let admin: AdminPort;
  let rig: SweepRig;

  beforeAll(async () => {
    rig = await openSweepRig('unclaimed');
    kafka = createKafka({ brokers: testInfra().kafkaBrokers.split(','), clientId: 'unclaimed', logger });
    admin = await kafka.admin();
    await applyTopics({ admin, destinations: [destination], replication: 1 });
    await readToEnd();
  });
  afterAll(async () => {
    await admin?.deleteTopics(ownTopics.map(({ name }) => name));
    await kafka?.close();
    await rig?.close();
  });
  afterEach(async () => {
    await readToEnd();
    await rig.clear();
  });

  /** As a group that has settled everything. */
  async function readToEnd(): Promise<void> {
    const ends = await admin.topicOffsets(topics.leadAccepted);
    await admin.setGroupOffsets(
      group,
      ends.map(({ partition, high }) => ({ topic: topics.leadAccepted, partition, offset: high })),
    );
  }

  const unclaimed = (more: Partial<UnclaimedOptions> = {}) =>
    new UnclaimedLeads({
      db: rig.db,
      codec,
      kafka,
      destinations: [destination],
      logger,
      keepMs: 0,
      timeoutMs: 30_000,
      lookMs: 30_000,
      ...more,
    });
  const read = async (leads: UnclaimedLeads) => (await leads.read()).get(destination);

  function lead(more: Partial<LeadAccepted> = {}): LeadAccepted {
    const submitted = new Date();
    return {
      event_id: newEventId(),
      event_type: 'lead.accepted',
      version: 1,
      lead_ref: newLeadRef(),
      organization: 'demo',
      source: 'website',
      source_event_ref: 'ref',
      form: null,
      campaign: null,
      submitted_at: submitted,
      accepted_at: submitted,
      deadline_at: new Date(submitted.getTime() + 60 * minuteMs),
      policy: 'default',
      payload_hmac: 'v1:00',
      consent: true,
      test: false,
      destinations: [destination],
      ...more,
    };
  }
  const recordOf = (event: LeadAccepted): OutgoingRecord => ({
    topic: topics.leadAccepted,
    key: Buffer.from(event.lead_ref),
    value: codec.encode(LeadAcceptedEvent, event),
    headers: { [headers.eventId]: event.event_id, [headers.destinations]: event.destinations.join(',') },
  });
  async function arrive(...records: OutgoingRecord[]): Promise<void> {
    const producer = await kafka.producer();
    await producer.send(records);
    await producer.close();
  }
  async function claim(...events: LeadAccepted[]): Promise<void> {
    for (const { event_id } of events) {
      const id = await insertDelivery(rig.db, { destination });
      await rig.db.sql('spec.rename', 'UPDATE delivery SET event_id = $2 WHERE event_id = $1', [id, event_id]);
    }
  }

  it('is every lead of this destination once, also test leads, and no record of others', async () => {
    const [oldest = lead(), ...others] = [
      lead({ submitted_at: new Date(Date.now() - 7 * minuteMs) }),
      ...Array.from({ length: 11 }, () => lead()),
      lead({ test: true, submitted_at: new Date(Date.now() - 9 * minuteMs) }),
    ];
    const foreign = Array.from({ length: 5 }, () => lead({ destinations: ['elsewhere'] }));
    const unreadable = { ...recordOf(lead()), value: Buffer.from('no event') };
    await arrive(...[oldest, ...others, ...foreign, oldest].map(recordOf), unreadable);
    const found = await read(unclaimed());
    expect(found).toEqual({
      exact: true,
      all: { count: 13, oldestAtMs: others.at(-1)?.submitted_at.getTime() },
      real: { count: 12, oldestAtMs: oldest.submitted_at.getTime() },
    });
  });

  it('grows as leads arrive, and loses what is taken up before its record is committed', async () => {
    const [first, second] = [Array.from({ length: 6 }, () => lead()), Array.from({ length: 4 }, () => lead())];
    const leads = unclaimed();
    expect(await read(leads)).toMatchObject({ exact: true, all: { count: 0 } });
    await arrive(...first.map(recordOf));
    expect(await read(leads)).toMatchObject({ all: { count: 6 } });
    await arrive(...second.map(recordOf));
    expect(await read(leads)).toMatchObject({ all: { count: 10 } });
    await claim(...first);
    expect(await read(leads)).toMatchObject({ all: { count: 4 } });
    await readToEnd();
    expect(await read(leads)).toMatchObject({ exact: true, all: { count: 0 } });
  });

  it('is an upper bound while there was no time to look at it', async () => {
    await arrive(recordOf(lead()), recordOf(lead({ destinations: ['elsewhere'] })));
    const found = (await read(unclaimed({ lookMs: 0 }))) as Found;
    expect(found.exact).toBe(false);
    expect(found.all.count).toBeGreaterThanOrEqual(2);
    expect(found.all).not.toHaveProperty('oldestAtMs');
  });

  it('asks Kafka once, however many look within the time that a reading is kept', async () => {
    let asked = 0;
    const counted = {
      admin: async () => ({
        ...bound(admin),
        offsetsOf: (names: readonly string[]) => {
          asked += 1;
          return admin.offsetsOf(names);
        },
      }),
    };
    const leads = unclaimed({ kafka: counted, keepMs: 60_000 });
    await Promise.all([read(leads), read(leads)]);
    await arrive(recordOf(lead()));
    expect(await read(leads)).toMatchObject({ all: { count: 0 } });
    expect(asked).toBe(1);
  });

  it('is not told for a group that has never committed', async () => {
    const name = uniqueName('never');
    await arrive(recordOf(lead()));
    expect((await unclaimed({ destinations: [name] }).read()).get(name)).toEqual({ unknown: 'no_position' });
  });

  it('is not told while no broker answers, and never taken for nothing', async () => {
    const away = createKafka({ brokers: ['127.0.0.1:1'], clientId: 'away', logger });
    const leads = unclaimed({ kafka: away, timeoutMs: 200 });
    expect(await read(leads)).toEqual({ unknown: 'kafka_away' });
    // The question that is still open is not asked a second time, and nobody waits for it again.
    expect(await read(leads)).toEqual({ unknown: 'kafka_away' });
    await away.close();
  });
});

/** Its methods, without the class. */
const bound = (admin: AdminPort) => ({
  groupOffsets: admin.groupOffsets.bind(admin),
  readFrom: admin.readFrom.bind(admin),
  offsetsOf: admin.offsetsOf.bind(admin),
});
