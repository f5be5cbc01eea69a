import type { Answer, Call } from '../http/call.js';

/** A stored body stays JSON text, which is cheap to keep by the hundred thousand; it is parsed again only for a lookup. */
export interface CrmRecord {
  id: string;
  /** external id of a lead, person key of a contact */
  key: string;
  text: string;
  receivedMs: number;
  committedMs: number;
  updates: number;
  traceparent?: string;
  tracestate?: string;
  idempotencyKey?: string;
}

export type CrmKind = 'lead' | 'contact';

interface GivenAnswer {
  path: string;
  body: string;
  status: number;
  id: string;
}

interface Shelf {
  all: CrmRecord[];
  byId: Map<string, CrmRecord>;
  byKey: Map<string, CrmRecord[]>;
  beyondFirst: number;
}

const shelf = (): Shelf => ({ all: [], byId: new Map(), byKey: new Map(), beyondFirst: 0 });

/** What a CRM keeps: leads, contacts, and the answers it gave under idempotency keys. It never deduplicates leads. */
export class CrmStore {
  private shelves = { lead: shelf(), contact: shelf() };
  private answers = new Map<string, GivenAnswer>();
  private sequence = 0;

  /** @param prefix of ids; has to differ between instances and restarts so that a reference is never given twice */
  constructor(
    private readonly prefix: string,
    private readonly changed: () => void,
  ) {}

  create(kind: CrmKind, key: string, call: Call): CrmRecord {
    const record: CrmRecord = {
      id: `${kind}_${this.prefix}${++this.sequence}`,
      key,
      text: call.body,
      receivedMs: call.receivedMs,
      committedMs: Date.now(),
      updates: 0,
      traceparent: header(call, 'traceparent'),
      tracestate: header(call, 'tracestate'),
      idempotencyKey: header(call, 'idempotency-key'),
    };
    const { all, byId, byKey } = this.shelves[kind];
    all.push(record);
    byId.set(record.id, record);
    const twins = byKey.get(key);
    if (twins === undefined) byKey.set(key, [record]);
    else {
      twins.push(record);
      this.shelves[kind].beyondFirst += 1;
    }
    this.changed();
    return record;
  }

  /** The first record under a key; undefined when there is none. */
  first(kind: CrmKind, key: string): CrmRecord | undefined {
    return this.shelves[kind].byKey.get(key)?.[0];
  }

  contact(id: string): CrmRecord | undefined {
    return this.shelves.contact.byId.get(id);
  }

  /** Writes the fields of the request's body over those of the record. */
  update(record: CrmRecord, call: Call): CrmRecord {
    record.text = JSON.stringify({ ...JSON.parse(record.text), ...JSON.parse(call.body) });
    record.updates += 1;
    record.traceparent = header(call, 'traceparent');
    this.changed();
    return record;
  }

  nextId(kind: CrmKind): string {
    return `${kind}_${this.prefix}${++this.sequence}`;
  }

  /** @returns the answer stored under the key, `conflict` when another request came with it, undefined when it is new */
  replayed(idempotencyKey: string, { path, body }: Call): Answer | 'conflict' | undefined {
    const given = this.answers.get(idempotencyKey);
    if (given === undefined) return undefined;
    return given.path === path && given.body === body ? { status: given.status, body: { id: given.id } } : 'conflict';
  }

  remember(idempotencyKey: string, { path, body }: Call, { status, id }: { status: number; id: string }): void {
    this.answers.set(idempotencyKey, { path, body, status, id });
  }

  /** Records as the API gives them. @param bornBeforeMs hides younger ones, as a lagging search index does */
  find(kind: CrmKind, key: string | undefined, bornBeforeMs = Number.POSITIVE_INFINITY): Record<string, unknown>[] {
    const { all, byKey } = this.shelves[kind];
    const found = key === undefined ? all : (byKey.get(key) ?? []);
    return found.filter((record) => record.committedMs <= bornBeforeMs).map(shown);
  }

  latest(kind: CrmKind, count: number): Record<string, unknown>[] {
    return this.shelves[kind].all.slice(-count).reverse().map(shown);
  }

  /** `duplicateEffects`: leads beyond the first per external id, plus contacts beyond the first per person key. */
  counts(): { records: number; contacts: number; duplicateEffects: number } {
    const { lead, contact } = this.shelves;
    return { records: lead.all.length, contacts: contact.all.length, duplicateEffects: lead.beyondFirst + contact.beyondFirst };
  }

  clear(): void {
    this.shelves = { lead: shelf(), contact: shelf() };
    this.answers.clear();
    this.changed();
  }
}

function header(call: Call, name: string): string | undefined {
  const value = call.headers[name];
  return Array.isArray(value) ? value.at(-1) : value;
}

function shown(record: CrmRecord): Record<string, unknown> {
  const { id, text, receivedMs, committedMs, updates, traceparent, tracestate, idempotencyKey } = record;
  return {
    ...(JSON.parse(text) as Record<string, unknown>),
    id,
    received_at: new Date(receivedMs).toISOString(),
    committed_at: new Date(committedMs).toISOString(),
    updates,
    traceparent,
    tracestate,
    idempotency_key: idempotencyKey,
  };
}
