import { carryOut, type Work } from '../faults/carry-out.js';
import { control } from '../faults/control.js';
import { ruleSchema, type Switches } from '../faults/rule.js';
import { RuleBook } from '../faults/rule-book.js';
import { type Answer, type Call, type Exchange, jsonObject, sendAnswer, type Witness } from '../http/call.js';
import { CallCounts } from './call-counts.js';
import { type Author, type CrmKind, keyField, writingOf } from './crm-record.js';
import { CrmStore } from './crm-store.js';
import { byHand } from './hand-door.js';
import { Minutes } from './minutes.js';
import { keysOf, search } from './reading.js';
import { signatureHolds } from './signature.js';

export interface CrmOptions {
  idPrefix: string;
  /** Checks signatures when set; a request without one is let in. */
  signatureKey?: Buffer;
  changed: () => void;
}

interface Write {
  kind: CrmKind;
  key: string;
  call: Call;
  /** Id of the record that is to be changed; absent for a new one. */
  id?: string;
}

const kindOfPath: Record<string, CrmKind> = { '/contacts': 'contact', '/leads': 'lead' };
const oneRecord = /^(\/contacts|\/leads)\/([^/]+)$/;
const writeSwitches: Record<CrmKind, (keyof Switches)[]> = {
  contact: ['idempotency', 'contactUpsert'],
  lead: ['idempotency', 'uniqueLeads'],
};
const controlSchema = ruleSchema(['contact', 'lead', 'lookup', 'check']);

/**
 * A CRM that is a witness, not a helper: any `POST /leads` makes another record, even for an external id it knows. What saves the
 * writer is only what it sends: an idempotency key, a person key, or a lookup of its own. It says of each record who changed it last, and
 * how often it was changed.
 */
export class Crm implements Witness {
  readonly rules = new RuleBook();
  private readonly store: CrmStore;
  private readonly calls = new CallCounts();
  private readonly minutes = new Minutes();
  private requests = 0;
  private lookups = 0;
  private checks = 0;
  /** Writes; lookups and checks do not count. */
  private inFlight = 0;
  private maxInFlight = 0;

  constructor(private readonly options: CrmOptions) {
    this.store = new CrmStore(options.idPrefix, options.changed);
  }

  routeOf(path: string): string {
    return path.replace(oneRecord, '$1/{id}');
  }

  handle(exchange: Exchange): void {
    const { call } = exchange;
    const [, list = call.path, id] = oneRecord.exec(call.path) ?? [];
    const kind = kindOfPath[list];
    if (call.path === '/check') this.check(exchange);
    else if (kind === undefined) this.answer(exchange, this.administer(call));
    else if (call.method === (id === undefined ? 'POST' : 'PATCH')) this.write(exchange, kind, id);
    else if (call.method === 'GET' && id === undefined) this.lookup(exchange, kind);
    else this.answer(exchange, notAllowed(id === undefined ? ['GET', 'POST'] : ['PATCH']));
  }

  snapshot(count: number): Record<string, unknown> {
    return { stats: this.stats(), leads: this.store.latest('lead', count), contacts: this.store.latest('contact', count) };
  }

  stats(): Record<string, number> {
    const { requests, lookups, checks, maxInFlight, inFlight } = this;
    return { ...this.store.counts(), requests, lookups, checks, maxInFlight, inFlight };
  }

  private administer(call: Call): Answer {
    const typed = byHand(this.store, call);
    if (typed !== undefined) return typed;
    if (call.path.startsWith('/control')) return control(call, this.rules, controlSchema);
    if (call.path === '/calls') return { status: 200, body: this.calls.of(call.query.get('external_id') ?? '') };
    if (call.path === '/minutes') return { status: 200, body: this.minutes.list() };
    if (call.path === '/stats') return { status: 200, body: this.stats() };
    if (call.path !== '/data') return { status: 404, body: { error: `no such path: ${call.path}` } };
    if (call.method === 'GET') return { status: 200, body: { leads: this.store.list('lead'), contacts: this.store.list('contact') } };
    if (call.method !== 'DELETE') return notAllowed(['GET', 'DELETE']);
    this.requests = 0;
    this.lookups = 0;
    this.checks = 0;
    this.maxInFlight = this.inFlight;
    this.calls.clear();
    this.minutes.clear();
    this.store.clear();
    return { status: 200, body: this.stats() };
  }

  private write(exchange: Exchange, kind: CrmKind, id?: string): void {
    this.inFlight += 1;
    if (this.inFlight > this.maxInFlight) this.maxInFlight = this.inFlight;
    this.requests += 1;
    const { call } = exchange;
    this.minutes.add(text(call.headers['idempotency-key']), call.receivedMs);
    const body = jsonObject(call.body);
    const key = text(body?.[keyField[kind]]) ?? (id === undefined ? undefined : this.store.record(id, kind)?.key) ?? '';
    const externalId = text(body?.external_id) ?? (key === '' ? text(body?.person_key) : key);
    this.calls.add(externalId, kind);
    const { fault, switches } = this.rules.decide({ operation: kind, externalId, campaign: text(body?.campaign) }, writeSwitches[kind]);
    const refused = this.unsigned(call) ?? this.refusal({ kind, key, call, id }, body);
    const commit = (): Answer => refused ?? this.commit({ kind, key, call, id }, switches);
    const pretend = (): Answer => refused ?? { status: id === undefined ? 201 : 200, body: { id: id ?? this.store.nextId(kind) } };
    const finished = (status: number | undefined): void => {
      this.inFlight -= 1;
      if (status === undefined) this.rules.unheard(fault);
    };
    carryOut(exchange, fault, { ...this.work(commit, pretend), finished });
  }

  /** Proves credentials, as far as it carries a signature, and that the CRM is there. */
  private check(exchange: Exchange): void {
    this.checks += 1;
    const { fault } = this.rules.decide({ operation: 'check' }, []);
    const answer = (): Answer => this.unsigned(exchange.call) ?? { status: 200, body: { ok: true } };
    carryOut(exchange, fault, this.work(answer, answer));
  }

  private lookup(exchange: Exchange, kind: CrmKind): void {
    this.lookups += 1;
    const { call } = exchange;
    const keys = keysOf(kind, call);
    for (const key of keys) this.calls.add(key, 'lookup');
    const ruled = { operation: 'lookup', subject: kind, externalId: keys.length === 1 ? keys[0] : undefined };
    const { fault, switches } = this.rules.decide(ruled, ['searchLagMs']);
    const found = (): Answer => search(this.store, { kind, call, bornBeforeMs: Date.now() - switches.searchLagMs });
    carryOut(exchange, fault, this.work(found, found));
  }

  private answer({ res, span }: Exchange, answer: Answer): void {
    sendAnswer(res, answer);
    span.end();
  }

  private work(commit: () => Answer, pretend: () => Answer): Work {
    return {
      commit,
      pretend,
      refusal: (status) => ({ error: `status ${status} by rule` }),
      finished: () => undefined,
    };
  }

  private unsigned(call: Call): Answer | undefined {
    const { signatureKey } = this.options;
    if (signatureKey === undefined || signatureHolds(call.headers, call.body, signatureKey)) return undefined;
    return { status: 401, body: { error: 'webhook-signature does not match' } };
  }

  /** A signature got here only where it holds, or where this CRM has no secret to check it by. */
  private authorOf({ headers }: Call): Author {
    return headers['webhook-signature'] === undefined ? 'other' : 'us';
  }

  private refusal({ kind, key, id }: Write, body: unknown): Answer | undefined {
    if (body === undefined) return { status: 400, body: { error: 'the body is not a JSON object' } };
    if (id !== undefined) return this.store.record(id, kind) === undefined ? { status: 404, body: { error: 'not_found' } } : undefined;
    if (key !== '') return undefined;
    return { status: 422, body: { error: `${keyField[kind]} is missing`, field: keyField[kind] } };
  }

  private commit({ kind, key, call, id: changed }: Write, switches: Switches): Answer {
    const idempotencyKey = switches.idempotency ? text(call.headers['idempotency-key']) : undefined;
    const stored = idempotencyKey === undefined ? undefined : this.store.replayed(idempotencyKey, call);
    if (stored === 'conflict') return { status: 409, body: { error: 'this Idempotency-Key came with another request before' } };
    if (stored !== undefined) return { ...stored, headers: { 'Idempotency-Replayed': 'true' } };
    const twin = this.store.first(kind, key);
    if (kind === 'lead' && switches.uniqueLeads && twin !== undefined) {
      return { status: 409, body: { error: 'duplicate_external_id', id: twin.id } };
    }
    const upserted = kind === 'contact' && switches.contactUpsert ? twin : undefined;
    const old = changed === undefined ? upserted : this.store.record(changed, kind);
    const writing = writingOf(call, this.authorOf(call));
    const { id } = old === undefined ? this.store.create(kind, key, writing) : this.store.update(old, writing);
    const status = old === undefined ? 201 : 200;
    if (idempotencyKey !== undefined) this.store.remember(idempotencyKey, call, { status, id });
    return { status, body: { id } };
  }
}

function notAllowed(methods: readonly string[]): Answer {
  return { status: 405, body: { error: `use ${methods.join(' or ')}` }, headers: { Allow: methods.join(', ') } };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
