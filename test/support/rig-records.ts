import type { ConsumedRecord, Receipt, Received } from '#messaging';
import { newEventId } from '#runtime';
import type { RigEvent } from './rig-crm.js';

/** A receipt that remembers when it was settled. */
export class RigReceipt implements Receipt {
  settled = false;
  stale = false;
  readonly redeliveries: number[] = [];
  /** Hands the record out again. */
  again?: () => void;

  constructor(readonly record: ConsumedRecord) {}

  settle(): void {
    if (!this.stale) this.settled = true;
  }

  redeliverIn(delayMs: number): void {
    this.redeliveries.push(delayMs);
    setTimeout(() => this.again?.(), delayMs).unref();
  }
}

export type RigReceived = Received<RigEvent> & { receipt: RigReceipt };

let nextOffset = 0n;

export interface RecordOptions {
  traceparent?: string;
  topic?: string;
  headers?: Record<string, string>;
}

/** An event as its record would bring it. */
export function received(event: RigEvent, { traceparent, topic = 'main', headers = {} }: RecordOptions = {}): RigReceived {
  const record: ConsumedRecord = {
    topic,
    partition: 0,
    offset: nextOffset++,
    key: Buffer.from(event.ref),
    value: Buffer.from(JSON.stringify(event)),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)])),
    timestampMs: Date.now(),
  };
  const parts = traceparent?.split('-');
  const trace = traceparent === undefined ? undefined : { traceparent, traceId: parts?.[1] ?? '', spanId: parts?.[2] ?? '', sampled: true };
  return { receipt: new RigReceipt(record), result: { ok: true, event }, trace };
}

export function newEvents(count: number, deadlineInMs = 3_600_000): RigEvent[] {
  return Array.from({ length: count }, (_, index) => ({ id: newEventId(), ref: `L-${index}`, deadlineMs: Date.now() + deadlineInMs }));
}
