import type { Answer, Call } from '../http/call.js';
import { ChangeLog } from './change-log.js';
import { type CrmKind, type CrmRecord, keyField, shown, type Writing } from './crm-record.js';

interface GivenAnswer {
  path: string;
  body: string;
  status: number;
  id: string;
}

interface Shelf {
  all: CrmRecord[];
  byKey: Map<string, CrmRecord[]>;
  beyondFirst: number;
  log: ChangeLog;
}

const shelf = (): Shelf => ({ all: [], byKey: new Map(), beyondFirst: 0, log: new ChangeLog() });

/** A page of what was made or changed in `[fromMs, toMs)`. */
export interface Window {
  fromMs: number;
  toMs: number;
  /** Where the page before ended. */
  after?: number;
  limit: number;
}

/** What a CRM keeps: leads, contacts, and the answers it gave under idempotency keys. It never deduplicates leads. */
export class CrmStore {
  private shelves = { lead: shelf(), contact: shelf() };
  private byId = new Map<string, CrmRecord>();
  private answers = new Map<string, GivenAnswer>();
  private sequence = 0;

  /** @param prefix of ids; has to differ between instances and restarts so that a reference is never given twice */
  constructor(
    private readonly prefix: string,
    private readonly changed: () => void,
  ) {}

  create(kind: CrmKind, key: string, { by, ...writing }: Writing): CrmRecord {
    const committedMs = Date.now();
    const id = this.nextId(kind);
    const record: CrmRecord = { id, kind, key, ...writing, committedMs, changedMs: committedMs, sequence: 0, changedBy: by, updates: 0 };
    this.shelves[kind].all.push(record);
    this.byId.set(record.id, record);
    this.shelve(record);
    this.shelves[kind].log.add(record);
    this.changed();
    return record;
  }

  /** The first record under a key; undefined when there is none. */
  first(kind: CrmKind, key: string): CrmRecord | undefined {
    return this.shelves[kind].byKey.get(key)?.[0];
  }

  record(id: string, kind?: CrmKind): CrmRecord | undefined {
    const record = this.byId.get(id);
    return kind === undefined || record?.kind === kind ? record : undefined;
  }

  /** Writes the fields of the body over those of the record. */
  update(record: CrmRecord, { text, by, traceparent }: Writing): CrmRecord {
    const fields = { ...(JSON.parse(record.text) as object), ...(JSON.parse(text) as object) } as Record<string, unknown>;
    record.text = JSON.stringify(fields);
    record.updates += 1;
    record.changedBy = by;
    record.traceparent = traceparent;
    const key = fields[keyField[record.kind]];
    const named = typeof key === 'string' || typeof key === 'number' ? String(key) : '';
    if (named !== record.key) {
      this.unshelve(record);
      record.key = named;
      this.shelve(record);
    }
    this.shelves[record.kind].log.add(record);
    this.changed();
    return record;
  }

  /** Gone, and no trace of it is left: what it was is not told to anybody who asks. Answers under idempotency keys go on naming it. */
  remove(record: CrmRecord): void {
    const { all, log } = this.shelves[record.kind];
    all.splice(all.indexOf(record), 1);
    this.byId.delete(record.id);
    this.unshelve(record);
    log.remove(record);
    this.changed();
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

  /** All records of a kind, oldest first. @param bornBeforeMs hides younger ones, as a lagging search index does */
  list(kind: CrmKind, bornBeforeMs = Number.POSITIVE_INFINITY): Record<string, unknown>[] {
    return seen(this.shelves[kind].all, bornBeforeMs);
  }

  /** Every record under each of the keys. */
  underKeys(kind: CrmKind, keys: readonly string[], bornBeforeMs: number): Record<string, unknown>[] {
    return seen(
      keys.flatMap((key) => this.shelves[kind].byKey.get(key) ?? []),
      bornBeforeMs,
    );
  }

  byIds(kind: CrmKind, ids: readonly string[], bornBeforeMs: number): Record<string, unknown>[] {
    return seen(
      ids.flatMap((id) => this.record(id, kind) ?? []),
      bornBeforeMs,
    );
  }

  /** In the order of the last change; `next` is where the following page begins. */
  inWindow(
    kind: CrmKind,
    { fromMs, toMs, after, limit }: Window,
    bornBeforeMs: number,
  ): { items: Record<string, unknown>[]; next?: string } {
    const items: Record<string, unknown>[] = [];
    let last = after ?? 0;
    for (const record of this.shelves[kind].log.since(fromMs, after)) {
      const isIn = record.changedMs < toMs || (record.committedMs >= fromMs && record.committedMs < toMs);
      if (!isIn || record.committedMs > bornBeforeMs) continue;
      if (items.length === limit) return { items, next: String(last) };
      items.push(shown(record));
      last = record.sequence;
    }
    return { items };
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
    this.byId.clear();
    this.answers.clear();
    this.changed();
  }

  private shelve(record: CrmRecord): void {
    if (record.key === '') return;
    const place = this.shelves[record.kind];
    const twins = place.byKey.get(record.key);
    if (twins === undefined) place.byKey.set(record.key, [record]);
    else {
      twins.push(record);
      place.beyondFirst += 1;
    }
  }

  private unshelve(record: CrmRecord): void {
    const place = this.shelves[record.kind];
    const twins = place.byKey.get(record.key);
    if (twins === undefined) return;
    if (twins.length > 1) place.beyondFirst -= 1;
    if (twins.length === 1) place.byKey.delete(record.key);
    else twins.splice(twins.indexOf(record), 1);
  }
}

function seen(records: readonly CrmRecord[], bornBeforeMs: number): Record<string, unknown>[] {
  return records.filter(({ committedMs }) => committedMs <= bornBeforeMs).map(shown);
}
