import type { ErrorRule, ReadingConfig } from '#runtime';
import type { ChangedQuery, Connector, FoundRecord, ReadAnswer, ReadQuery } from '../connector.js';
import type { HttpResult } from '../http/http-caller.js';
import { readAnswer } from './answer.js';
import { foundRecord, text, valueAt } from './found-record.js';
import { listIn } from './lookup.js';
import { fillTemplate } from './template.js';

type Get = (path: string, options: { timeoutMs: number; trace?: ReadQuery['trace'] }) => Promise<HttpResult>;

interface ReadingOptions {
  reading: ReadingConfig;
  errors: readonly ErrorRule[];
  get: Get;
}

type Refusal = Extract<ReadAnswer, { ok: false }>;
interface Page {
  ok: true;
  records: FoundRecord[];
  next?: string;
}

/** What a destination can be read by: nothing that its site file has no template for. */
export function readers({
  reading,
  ...options
}: Omit<ReadingOptions, 'reading'> & { reading?: ReadingConfig }): Pick<Connector, 'readMany' | 'changedSince'> {
  if (reading === undefined) return {};
  const reads = new Reading({ reading, ...options });
  return {
    ...(Object.keys(reading.many).length > 0 && { readMany: (query: ReadQuery) => reads.many(query) }),
    ...(Object.keys(reading.changedSince).length > 0 && { changedSince: (query: ChangedQuery) => reads.changedSince(query) }),
  };
}

/** Reads records by the templates of the site file. What a destination shows beside what was asked for is left out. */
class Reading {
  constructor(private readonly options: ReadingOptions) {}

  /** All records of the keys or of the ids. An answer that goes on after its page is none: what it leaves out would count as missing. */
  async many({ kind, keys, refs, trace, timeoutMs }: ReadQuery): Promise<ReadAnswer> {
    const { many, limit } = this.options.reading;
    const asked = keys ?? refs ?? [];
    const template = keys === undefined ? many[kind]?.refs : many[kind]?.keys;
    if (template === undefined) return { ok: false, class: 'unsupported', code: keys === undefined ? 'no_read_by_ref' : 'no_read_by_key' };
    if (asked.length === 0) return { ok: true, records: [] };
    if (asked.length > limit) return { ok: false, class: 'permanent', code: 'too_many_keys' };
    const page = await this.page(kind, fillTemplate(template, keysFor(asked)), { trace, timeoutMs });
    if (!page.ok) return page;
    if (page.next !== undefined) return { ok: false, class: 'permanent', code: 'answer_has_more_pages' };
    const wanted = new Set(asked);
    return { ok: true, records: page.records.filter(({ key, ref }) => wanted.has((keys === undefined ? ref : key) ?? '')) };
  }

  async changedSince({ kind, from, to, cursor, limit, timeoutMs }: ChangedQuery): Promise<ReadAnswer> {
    const template = this.options.reading.changedSince[kind];
    if (template === undefined) return { ok: false, class: 'unsupported', code: 'no_changed_since' };
    const values = { from: from.toISOString(), to: to.toISOString(), limit: String(limit), cursor: cursor ?? '' };
    const page = await this.page(kind, fillTemplate(template, values), { timeoutMs });
    if (!page.ok) return page;
    if (page.next !== undefined && page.next === cursor) return { ok: false, class: 'permanent', code: 'cursor_stands_still' };
    return { ...page, records: page.records.filter((record) => isWithin(record, from, to)) };
  }

  private async page(kind: string, path: string, options: Parameters<Get>[1]): Promise<Page | Refusal> {
    const result = await this.options.get(path, options);
    if (result.kind !== 'answered') return { ok: false, class: 'transient', code: result.code };
    if (result.status !== 200) return refusal(result, { errors: this.options.errors, operation: kind });
    const { record: places } = this.options.reading;
    const read = listIn(result.body);
    if (read === undefined)
      return { ok: false, class: 'permanent', code: result.body === undefined ? 'answer_too_long' : 'unreadable_answer' };
    const records: FoundRecord[] = [];
    for (const item of read.list) {
      const record = foundRecord(kind, item, places);
      if (record === undefined) return { ok: false, class: 'permanent', code: 'answer_without_id' };
      records.push(record);
    }
    return { ok: true, records, next: text(valueAt(read.whole, places.next)) };
  }
}

/** Every name that a template may give to what is asked for; which of them it may use is checked with the site file. */
function keysFor(asked: readonly string[]): Record<string, readonly string[]> {
  return { external_ids: asked, event_ids: asked, person_keys: asked, refs: asked };
}

/** Times of a record may be cut to seconds. */
const coarseMs = 1_000;

/** What a destination shows of another time is left out, as far as the record says its times. */
function isWithin({ createdAt, changedAt = createdAt }: FoundRecord, from: Date, to: Date): boolean {
  if (changedAt === undefined) return true;
  const isIn = (time = ''): boolean => Date.parse(time) > from.getTime() - coarseMs && Date.parse(time) < to.getTime();
  return isIn(changedAt) || isIn(createdAt);
}

/** A read has no effect: whatever is not a refusal may be asked again. */
function refusal(result: HttpResult, { errors, operation }: { errors: readonly ErrorRule[]; operation: string }): Refusal {
  const outcome = readAnswer(result, { nowMs: Date.now(), operation, errors, canLookUp: false });
  switch (outcome.kind) {
    case 'throttled':
      return { ok: false, class: 'throttled', code: outcome.code, retryAfterMs: outcome.afterMs };
    case 'auth':
      return { ok: false, class: 'auth', code: outcome.code };
    case 'permanent':
      return { ok: false, class: 'permanent', code: outcome.code };
    case 'transient':
    case 'uncertain':
      return { ok: false, class: 'transient', code: outcome.code, retryAfterMs: outcome.afterMs };
    default:
      return { ok: false, class: 'permanent', code: 'unreadable_answer' };
  }
}
