import { appendFileSync } from 'node:fs';
import avsc from 'avsc';
import { CompressionTypes, Kafka, logLevel, Partitioners, type Producer } from 'kafkajs';
import { LeadSubmittedEvent } from '#contracts';
import { registerCodecs } from '#messaging';
import type { Endpoints } from '#testkit';
import { person, plantLead } from '../privacy/planted.js';

registerCodecs();

/** The smallest body of `POST /v1/leads` for the n-th lead of a test, with planted personal data. */
export function leadBody(sourceEventId: string, n: number): Record<string, unknown> {
  const { name, email, phone, message } = person(n);
  return {
    source_event_id: sourceEventId,
    form: 'contact',
    campaign: 'autumn',
    contact: { name, email, phone },
    message,
    consent: { given: true, at: '2026-11-01T10:00:00Z' },
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/**
 * Client of intake as a website is one. Whatever person it hands in is among the planted ones; every body it receives is appended to
 * `evidenceFile`, where the scan for personal data reads it.
 */
export class IntakeClient {
  constructor(
    private readonly endpoints: Pick<Endpoints, 'intake' | 'sourceKey'>,
    private readonly evidenceFile?: string,
  ) {}

  async post(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    plantLead(body);
    return this.call('/v1/leads', { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers });
  }

  async get(path: string): Promise<Answer> {
    return this.call(path, { method: 'GET' });
  }

  private async call(path: string, init: { method: string; body?: string; headers?: Record<string, string> }): Promise<Answer> {
    const answer = await fetch(`${this.endpoints.intake}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${this.endpoints.sourceKey}`, 'content-type': 'application/json', ...init.headers },
      signal: AbortSignal.timeout(15_000),
    });
    const text = await answer.text();
    if (this.evidenceFile) appendFileSync(this.evidenceFile, `${text}\n`);
    return { status: answer.status, headers: answer.headers, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
  }
}

/** An upstream system: produces `LeadSubmitted` in the registry's framing to `leads`. Whatever person it hands in is among the planted ones. */
export class UpstreamProducer {
  private constructor(
    private readonly producer: Producer,
    private readonly schemaId: number,
  ) {}

  static async connect(endpoints: Pick<Endpoints, 'kafkaBrokers' | 'schemaRegistry'>): Promise<UpstreamProducer> {
    const answer = await fetch(`${endpoints.schemaRegistry}/subjects/leads-value/versions/latest`);
    const { id } = (await answer.json()) as { id: number };
    const kafka = new Kafka({
      brokers: endpoints.kafkaBrokers.split(','),
      clientId: 'upstream',
      logLevel: logLevel.NOTHING,
      retry: { retries: 30, maxRetryTime: 2000 },
    });
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await producer.connect();
    return new UpstreamProducer(producer, id);
  }

  /** Acknowledged by the broker when it returns. */
  async send(
    leads: { sourceEventId: string; n: number; traceparent?: string; overrides?: Record<string, unknown> }[],
    codec = CompressionTypes.None,
  ): Promise<void> {
    await this.producer.send({
      topic: 'leads',
      acks: -1,
      compression: codec,
      messages: leads.map(({ sourceEventId, n, traceparent, overrides }) => ({
        key: sourceEventId,
        value: this.encode({ ...submitted(sourceEventId, n), ...overrides }),
        ...(traceparent ? { headers: { traceparent } } : {}),
      })),
    });
  }

  /** Bytes as they are, for records that no correct client would write. */
  async sendRaw(messages: { key: string | null; value: Buffer | null; headers?: Record<string, string | Buffer> }[]): Promise<void> {
    await this.producer.send({ topic: 'leads', acks: -1, messages });
  }

  /** Magic byte, schema id, Avro body. */
  encode(value: Record<string, unknown>): Buffer {
    plantLead(value);
    const frame = Buffer.alloc(5);
    frame.writeInt32BE(this.schemaId, 1);
    return Buffer.concat([frame, submittedType.toBuffer(value)]);
  }

  async close(): Promise<void> {
    await this.producer.disconnect();
  }
}

/** A `LeadSubmitted` value as plain Avro data (times as epoch milliseconds). */
export function submitted(sourceEventId: string, n: number): Record<string, unknown> {
  const { name, email, phone, message } = person(n);
  return {
    source_event_id: sourceEventId,
    organization: 'demo',
    source: 'website',
    form: 'contact',
    campaign: 'autumn',
    submitted_at: Date.now(),
    contact: { name, email, phone },
    message,
    consent: { given: true, at: null },
    custom: {},
    supersedes: null,
    test: false,
  };
}

const submittedType = avsc.Type.forSchema(JSON.parse(LeadSubmittedEvent.schema) as avsc.Schema);
