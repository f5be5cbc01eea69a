import { type LeadSubmitted, LeadSubmittedEvent } from '#contracts';
import { createCodec, createKafka } from '#messaging';
import { createLogger } from '#runtime';
import type { Endpoints } from '#testkit';
import type { Sample } from './people.js';

/** Posts a sample as a website would. Throws when intake does not answer 202. */
export async function postLead({ intake, sourceKey }: Endpoints, sample: Sample): Promise<void> {
  const { sourceEventId, name, email, phone, message, consent } = sample;
  const answer = await fetch(`${intake}/v1/leads`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sourceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      source_event_id: sourceEventId,
      form: 'contact',
      campaign: 'autumn',
      contact: { name, email, phone },
      message,
      consent: { given: consent, at: new Date().toISOString() },
    }),
    signal: AbortSignal.timeout(5_000),
  });
  await answer.body?.cancel();
  if (answer.status !== 202) throw new Error(`intake answered ${answer.status} to the sample lead ${sourceEventId}`);
}

/** Produces a sample to the topic `leads` as an upstream system would. Throws when the registry or the broker refuses. */
export async function produceLead({ kafkaBrokers, schemaRegistry }: Endpoints, sample: Sample): Promise<void> {
  const { subject } = LeadSubmittedEvent;
  const latest = await fetch(`${schemaRegistry}/subjects/${subject}/versions/latest`, { signal: AbortSignal.timeout(5_000) });
  const { id, version, schema } = (await latest.json()) as { id: number; version: number; schema: string };
  const codec = createCodec({ known: [{ subject, id, version, schema }] });
  const kafka = createKafka({ brokers: kafkaBrokers.split(','), clientId: 'samples', logger: createLogger('samples', 'silent') });
  const { sourceEventId, name, email, phone, message, consent } = sample;
  const lead: LeadSubmitted = {
    source_event_id: sourceEventId,
    organization: 'demo',
    source: 'website',
    form: 'contact',
    campaign: 'autumn',
    submitted_at: new Date(),
    contact: { name, email, phone },
    message,
    consent: { given: consent, at: new Date() },
    custom: {},
    supersedes: null,
    test: false,
  };
  try {
    const producer = await kafka.producer();
    await producer.send([
      { topic: LeadSubmittedEvent.topic, key: Buffer.from(sourceEventId), value: codec.encode(LeadSubmittedEvent, lead) },
    ]);
  } finally {
    await kafka.close();
  }
}
