import { carryOut, type Work } from '../faults/carry-out.js';
import { control } from '../faults/control.js';
import { ruleSchema, type Switches } from '../faults/rule.js';
import { RuleBook } from '../faults/rule-book.js';
import { type Answer, type Call, type Exchange, jsonObject, sendAnswer, type Witness } from '../http/call.js';
import { CallCounts } from './call-counts.js';
import { type CrmKind, CrmStore } from './crm-store.js';
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
}

/** Field that identifies a record of each kind, in bodies and in lookups. */
const keyField: Record<CrmKind, string> = { contact: 'person_key', lead: 'external_id' };
const kindOfPath: Record<string, CrmKind> = { '/contacts': 'contact', '/leads': 'lead' };
const writeSwitches: Record<CrmKind, (keyof Switches)[]> = { contact: ['idempotency', 'contactUpsert'], lead: ['idempotency'] };
const controlSchema = ruleSchema(['contact', 'lead', 'lookup']);

/**
 * A CRM that is a witness, not a helper: any `POST /leads` makes another record, even for an external id it knows. What saves the
 * writer is only what it sends: an idempotency key, a person key, or a lookup of its own.
 */
export class Crm implements Witness {
  readonly rules = new RuleBook();
  private readonly store: CrmStore;
  private readonly calls = new CallCounts();
  private requests = 0;
  private lookups = 0;
  private inFlight = 0;
  private maxInFlight = 0;

  constructor(private readonly options: CrmOptions) {
    this.store = new CrmStore(options.idPrefix, options.changed);
  }

  routeOf(path: string): string {
    return path;
  }

  handle(exchange: Exchange): void {
    const { call, res } = exchange;
    const kind = kindOfPath[call.path];
    if (kind === undefined) {
      sendAnswer(res, this.administer(call));
      exchange.span.end();
      return;
    }
    if (call.method !== 'POST' && call.method !== 'GET') {
      sendAnswer(res, { status: 405, body: { error: 'use POST or GET' }, headers: { Allow: 'GET, POST' } });
      exchange.span.end();
      return;
    }
    this.inFlight += 1;
    if (this.inFlight > this.maxInFlight) this.maxInFlight = this.inFlight;
    if (call.method === 'POST') this.write(exchange, kind);
    else this.lookup(exchange, kind);
  }

  snapshot(count: number): Record<string, unknown> {
    return { stats: this.stats(), leads: this.store.latest('lead', count), contacts: this.store.latest('contact', count) };
  }

  stats(): Record<string, number> {
    const { requests, lookups, maxInFlight, inFlight } = this;
    return { ...this.store.counts(), requests, lookups, maxInFlight, inFlight };
  }

  private administer(call: Call): Answer {
    if (call.path.startsWith('/control')) return control(call, this.rules, controlSchema);
    if (call.path === '/calls') return { status: 200, body: this.calls.of(call.query.get('external_id') ?? '') };
    if (call.path === '/stats') return { status: 200, body: this.stats() };
    if (call.path !== '/data') return { status: 404, body: { error: `no such path: ${call.path}` } };
    if (call.method === 'GET')
      return { status: 200, body: { leads: this.store.find('lead', undefined), contacts: this.store.find('contact', undefined) } };
    if (call.method !== 'DELETE') return { status: 405, body: { error: 'use GET or DELETE' } };
    this.requests = 0;
    this.lookups = 0;
    this.maxInFlight = this.inFlight;
    this.calls.clear();
    this.store.clear();
    return { status: 200, body: this.stats() };
  }

  private write(exchange: Exchange, kind: CrmKind): void {
    this.requests += 1;
    const { call } = exchange;
    const body = jsonObject(call.body);
    const key = text(body?.[keyField[kind]]) ?? '';
    const externalId = text(body?.external_id) ?? text(body?.person_key);
    this.calls.add(externalId, kind);
    const { fault, switches } = this.rules.decide({ operation: kind, externalId, campaign: text(body?.campaign) }, writeSwitches[kind]);
    const refused = this.unsigned(call) ?? refusal(kind, body, key);
    const commit = (): Answer => refused ?? this.commit({ kind, key, call }, switches);
    const pretend = (): Answer => refused ?? { status: 201, body: { id: this.store.nextId(kind) } };
    carryOut(exchange, fault, this.work(commit, pretend));
  }

  private lookup(exchange: Exchange, kind: CrmKind): void {
    this.lookups += 1;
    const key = exchange.call.query.get(keyField[kind]) ?? undefined;
    this.calls.add(key, 'lookup');
    const ruled = { operation: 'lookup', subject: kind, externalId: key };
    const { fault, switches } = this.rules.decide(ruled, ['searchLagMs']);
    const search = (): Answer => ({ status: 200, body: this.store.find(kind, key, Date.now() - switches.searchLagMs) });
    carryOut(exchange, fault, this.work(search, search));
  }

  private work(commit: () => Answer, pretend: () => Answer): Work {
    return {
      commit,
      pretend,
      refusal: (status) => ({ error: `status ${status} by rule` }),
      finished: () => {
        this.inFlight -= 1;
      },
    };
  }

  private unsigned(call: Call): Answer | undefined {
    const { signatureKey } = this.options;
    if (signatureKey === undefined || signatureHolds(call.headers, call.body, signatureKey)) return undefined;
    return { status: 401, body: { error: 'webhook-signature does not match' } };
  }

  private commit({ kind, key, call }: Write, switches: Switches): Answer {
    const idempotencyKey = switches.idempotency ? text(call.headers['idempotency-key']) : undefined;
    const stored = idempotencyKey === undefined ? undefined : this.store.replayed(idempotencyKey, call);
    if (stored === 'conflict') return { status: 409, body: { error: 'this Idempotency-Key came with another request before' } };
    if (stored !== undefined) return { ...stored, headers: { 'Idempotency-Replayed': 'true' } };
    const updated = kind === 'contact' && switches.contactUpsert ? this.store.update(key, call) : undefined;
    const { id } = updated ?? this.store.create(kind, key, call);
    const status = updated === undefined ? 201 : 200;
    if (idempotencyKey !== undefined) this.store.remember(idempotencyKey, call, { status, id });
    return { status, body: { id } };
  }
}

function refusal(kind: CrmKind, body: unknown, key: string): Answer | undefined {
  if (body === undefined) return { status: 400, body: { error: 'the body is not a JSON object' } };
  if (key !== '') return undefined;
  return { status: 422, body: { error: `${keyField[kind]} is missing`, field: keyField[kind] } };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
