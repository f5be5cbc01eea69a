import type { LeadAccepted, LeadPayload } from '#contracts';
import {
  changedByPerson,
  type KnownContact,
  type LookupResult,
  noReference,
  type OlderRecord,
  type OnCallTime,
  type Outcome,
} from '#delivery';
import type { DestinationConfig, Hmacs } from '#runtime';
import type { Connector, ConnectorCapabilities, ExpectedLead, ExpectedRecord, LookupQuery, OperationCall } from '../connector.js';
import { HttpCaller, type HttpResult } from '../http/http-caller.js';
import { readAnswer } from './answer.js';
import { checkLookups, lacksPerson, lookupPath, namesLead, readLookup } from './lookup.js';
import { earlierBody, expectedRecord, firstWritten, mappingVersion, personField, webhookBody } from './mapping.js';
import { readers } from './reading.js';
import { createSigner, type Signer } from './sign.js';
import { contactKind, type Full, needsContactRef, requestOf, type WriteRequest, writesNothing } from './write-request.js';

export interface WebhookOptions {
  name: string;
  config: DestinationConfig;
  /** `whsec_…`. */
  secret: string;
  /** Keyed hashes that tell whether a request is the same without keeping it. */
  hmacs: Pick<Hmacs, 'ref'>;
  /** Told how long writes took. */
  onTime?: OnCallTime;
}

type Duplicate = Extract<Outcome, { kind: 'duplicate' }>;

/** Lookups and checks have connections of their own: they get through while every write hangs, and hold up none. */
const readConnections = 4;
/** What is read to compare has connections of its own too, and answers that are long. */
const compareConnections = 2;
const longestPageBytes = 8 * 1_048_576;

/** What is known of a write beside its answer. */
interface Written {
  full: Full;
  /** Of the whole call, by `performance.now()`. */
  endsAt: number;
  /** A record was changed by its id. */
  known: boolean;
  /** The contact's id, where it was known before. */
  ref?: string;
}

interface GetOptions {
  timeoutMs: number;
  trace?: OperationCall['trace'];
  by?: HttpCaller;
}

/**
 * Any HTTP CRM that takes signed JSON posts (Standard Webhooks). The operation key is `webhook-id` and `Idempotency-Key`: stable over every
 * attempt. With `native_idempotency` the receiver promises to answer a repeated key with its stored answer. With a lookup template an
 * operation can be found again. A contact whose id is known is changed by it where `updates` says how.
 */
export class WebhookConnector implements Connector {
  readonly name: string;
  readonly capabilities: ConnectorCapabilities;
  readonly check?: Connector['check'];
  readonly readMany?: Connector['readMany'];
  readonly changedSince?: Connector['changedSince'];
  readonly #config: DestinationConfig;
  readonly #signer: Signer;
  readonly #hmacs: Pick<Hmacs, 'ref'>;
  readonly #writer: HttpCaller;
  readonly #reader: HttpCaller;
  readonly #comparer: HttpCaller;

  constructor({ name, config, secret, hmacs, onTime }: WebhookOptions) {
    checkLookups(name, config.lookup);
    this.name = name;
    this.#config = config;
    this.#signer = createSigner(secret);
    this.#hmacs = hmacs;
    this.#writer = new HttpCaller({ ...config, connections: config.concurrency, onTime });
    this.#reader = new HttpCaller({ ...config, connections: readConnections });
    this.#comparer = new HttpCaller({ ...config, connections: compareConnections, maxAnswerBytes: longestPageBytes });
    const { check, reading } = config;
    if (check !== undefined) this.check = () => this.#check(check);
    const reads = readers({ reading, errors: config.errors, get: (path, options) => this.#get(path, { ...options, by: this.#comparer }) });
    if (reads.readMany !== undefined) this.readMany = reads.readMany;
    if (reads.changedSince !== undefined) this.changedSince = reads.changedSince;
    this.capabilities = {
      nativeIdempotency: config.nativeIdempotency,
      upsert: [],
      lookup: Object.keys(config.lookup),
      changedSince: reads.changedSince !== undefined,
      ...(reads.readMany !== undefined && { readMany: reading?.limit }),
      batch: false,
      check: check !== undefined,
    };
  }

  async perform(call: OperationCall): Promise<Outcome> {
    const full = this.#full(call);
    if (full === undefined) return { kind: 'permanent', class: 'conflict', code: 'request_changed' };
    if (call.kind !== contactKind && call.refs[call.kind] !== undefined && this.#config.updates[call.kind] === undefined) {
      // It is there, and nobody said how it is changed: posted, it would be there twice.
      return { kind: 'permanent', class: 'conflict', code: 'cannot_change' };
    }
    const request = requestOf(call, full, this.#config);
    if (request.changes && writesNothing(request)) {
      // Newer leads of the person have written every field already.
      return { kind: 'succeeded', ref: call.contact?.ref };
    }
    const written = firstWritten(request.body, this.#config.protectedFields);
    if (written !== undefined) return { kind: 'permanent', class: 'protected_field', code: written };
    const endsAt = performance.now() + call.timeoutMs;
    const result = await this.#send(call, request);
    if (call.compared !== undefined && request.known && (isGone(result) || isAnother(result)))
      return { ...changedByPerson, requestHash: full.hash, mappingVersion };
    if (request.known && call.kind === contactKind && isGone(result)) return this.#anew(call, full, endsAt);
    const outcome = this.#read(call, result, full.hash);
    return this.#settled(call, outcome, { full, endsAt, known: request.known, ref: call.contact?.ref });
  }

  /** What the operation's first call has sent, else what the lead sends by now; undefined where the one is not made any more. */
  #full(call: OperationCall): Full | undefined {
    const { pinned, event } = call;
    for (const bodyOf of [webhookBody, earlierBody]) {
      const body = bodyOf(call, this.#config.operations);
      const text = JSON.stringify(body);
      const hash = this.#hmacs.ref(event.organization, text);
      if (pinned === undefined || pinned.requestHash === hash) return { body, text, hash };
    }
    return undefined;
  }

  /**
   * The person's record was deleted there, or merged into another. With a key the call to make a new one may follow at once; without it the
   * attempt ends here, so that the next one is marked as a call that makes a record.
   */
  async #anew(call: OperationCall, full: Full, endsAt: number): Promise<Outcome> {
    const written = firstWritten(full.body, this.#config.protectedFields);
    if (written !== undefined) return { kind: 'permanent', class: 'protected_field', code: written };
    const leftMs = endsAt - performance.now();
    if (!this.#config.nativeIdempotency || leftMs < 1)
      return { kind: 'transient', code: 'contact_gone', provablyNotExecuted: true, gone: true, status: 404 };
    const request = requestOf({ ...call, contact: undefined }, full, this.#config);
    const result = await this.#send({ ...call, timeoutMs: leftMs }, request);
    return this.#settled(call, this.#read(call, result, full.hash), { full, endsAt, known: false });
  }

  /** A contact is settled once all that its lead carries is written, and its id is known where something hangs on that. */
  async #settled(call: OperationCall, outcome: Outcome, write: Written): Promise<Outcome> {
    if (call.kind !== contactKind) return write.known ? unlessAnother(call, outcome) : outcome;
    if (outcome.kind === 'succeeded') {
      const ref = outcome.ref ?? write.ref;
      if (ref !== undefined || !needsContactRef(this.#config)) return { ...outcome, ref };
      const found = await this.#foundRef(call, write.endsAt);
      return found === undefined ? { ...outcome, kind: 'uncertain', code: noReference, answered: true } : { ...outcome, ref: found };
    }
    if (write.known) return unlessAnother(call, outcome);
    if (outcome.kind === 'duplicate') return this.#changeTwin(call, outcome, write);
    if (outcome.kind !== 'uncertain' || outcome.answered !== true) return outcome;
    const twin = await this.#foundRef(call, write.endsAt);
    return twin === undefined ? outcome : this.#changeTwin(call, { ...outcome, kind: 'duplicate', ref: twin }, write);
  }

  /** The contact of which the destination did not say the id. Undefined: it does not say now, since its search lags for example. */
  async #foundRef({ kind, event, payload, trace }: OperationCall, endsAt: number): Promise<string | undefined> {
    const timeoutMs = endsAt - performance.now();
    if (timeoutMs < 1) return undefined;
    const found = await this.lookup({ kind, eventId: event.event_id, personKey: payload.person_key, trace, timeoutMs });
    return found.kind === 'found' ? found.ref : undefined;
  }

  /**
   * The person is there already, and what the lead carries is not yet written. A change of a named record may be repeated: without an answer to it
   * the whole operation is.
   */
  async #changeTwin(call: OperationCall, twin: Duplicate, { full, endsAt }: Written): Promise<Outcome> {
    const request = requestOf({ ...call, contact: { ref: twin.ref, newer: call.contact?.newer ?? [] } }, full, this.#config);
    if (!request.known || call.compared !== undefined || writesNothing(request)) return twin;
    const again = { kind: 'transient', provablyNotExecuted: true, requestHash: full.hash, mappingVersion } as const;
    const leftMs = endsAt - performance.now();
    if (leftMs < 1) return { ...again, code: 'contact_exists', status: twin.status };
    const result = await this.#send({ ...call, timeoutMs: leftMs }, request);
    if (isGone(result)) return { ...again, code: 'contact_gone', gone: true, status: 404 };
    const changed = { ...this.#read(call, result, full.hash), requestHash: full.hash, mappingVersion };
    if (changed.kind === 'succeeded') return { ...changed, ref: changed.ref ?? twin.ref };
    if (changed.kind === 'duplicate') return changed.ref === twin.ref ? changed : several(call.kind, changed);
    return changed.kind === 'uncertain' && !this.#config.nativeIdempotency ? { ...changed, ...again } : changed;
  }

  #read(call: OperationCall, result: HttpResult, requestHash: string): Outcome {
    const pin = result.kind === 'not_sent' ? {} : { requestHash, mappingVersion };
    const { errors, lookup } = this.#config;
    const canLookUp = Object.hasOwn(lookup, call.kind);
    return { ...readAnswer(result, { nowMs: Date.now(), operation: call.kind, errors, canLookUp }), ...pin };
  }

  contactFields(event: LeadAccepted, payload: LeadPayload): readonly string[] {
    const body = webhookBody({ kind: 'contact', event, payload, refs: {} }, this.#config.operations);
    return Object.keys(body).filter((name) => name !== personField);
  }

  repeatable(kind: string, contact: KnownContact | undefined): boolean {
    return contact?.ref !== undefined && this.#config.updates[kind] !== undefined;
  }

  older(kind: string): OlderRecord | undefined {
    if (kind !== contactKind || namesLead(this.#config.lookup[kind] ?? '')) return undefined;
    return this.#config.updates[kind] === undefined ? 'keep' : 'change';
  }

  async lookup(query: LookupQuery): Promise<LookupResult> {
    const template = this.#config.lookup[query.kind];
    if (template === undefined) return { kind: 'unknown', code: 'no_lookup' };
    if (lacksPerson(template, query)) return { kind: 'unknown', code: 'no_person_key' };
    const timeoutMs = Math.min(query.timeoutMs, this.#config.lookupTimeoutMs);
    return readLookup(await this.#get(lookupPath(template, query), { timeoutMs, trace: query.trace }), Date.now());
  }

  expected(lead: ExpectedLead): ExpectedRecord {
    return expectedRecord(lead, this.#config.operations);
  }

  async close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#reader.close(), this.#comparer.close()]);
  }

  #send(call: OperationCall, { method, path, text: body, changes, ifMatch }: WriteRequest): Promise<HttpResult> {
    // What a change carries depends on what was written meanwhile: other bytes under the same key would be refused, or taken for a repeat.
    const key = changes ? `${call.operationKey}~${this.#hmacs.ref(call.event.organization, body).slice(0, 12)}` : call.operationKey;
    const headers = ['content-type', 'application/json', ...this.#signed(key, body), 'idempotency-key', key, ...traceHeaders(call.trace)];
    if (ifMatch !== undefined) headers.push('if-match', `"${ifMatch}"`);
    return this.#writer.call({ method, path, headers, body, timeoutMs: call.timeoutMs });
  }

  async #check(path: string): Promise<{ ok: boolean; code?: string }> {
    const result = await this.#get(path, { timeoutMs: this.#config.lookupTimeoutMs });
    if (result.kind !== 'answered') return { ok: false, code: result.code };
    const answer = readAnswer(result, { nowMs: Date.now(), operation: 'check', errors: [], canLookUp: false });
    return answer.kind === 'succeeded' ? { ok: true } : { ok: false, code: 'code' in answer ? answer.code : answer.kind };
  }

  #get(path: string, { timeoutMs, trace, by = this.#reader }: GetOptions): Promise<HttpResult> {
    const headers = ['accept', 'application/json', ...this.#signed(`get:${crypto.randomUUID()}`, ''), ...traceHeaders(trace)];
    return by.call({ method: 'GET', path, headers, timeoutMs });
  }

  #signed(id: string, body: string): string[] {
    const seconds = Math.floor(Date.now() / 1_000);
    const signature = this.#signer.sign(id, seconds, body);
    return ['webhook-id', id, 'webhook-timestamp', String(seconds), 'webhook-signature', signature];
  }
}

/** A change that was refused because of yet another record: it was not made, and which of them is the right one, somebody has to say. */
function several(kind: string, { ref: _other, ...answer }: Duplicate): Outcome {
  return { ...answer, kind: 'permanent', class: 'conflict', code: kind === contactKind ? 'several_contacts' : 'several_records' };
}

/** What the change of a known record came to: a duplicate of itself is none. */
function unlessAnother({ kind, contact, refs }: OperationCall, outcome: Outcome): Outcome {
  const own = kind === contactKind ? contact?.ref : refs[kind];
  return outcome.kind === 'duplicate' && outcome.ref !== own ? several(kind, outcome) : outcome;
}

function isGone(result: HttpResult): boolean {
  return result.kind === 'answered' && (result.status === 404 || result.status === 410);
}

/** 412: it has another version than the one that was named. */
function isAnother(result: HttpResult): boolean {
  return result.kind === 'answered' && result.status === 412;
}

function traceHeaders(trace: OperationCall['trace'] | undefined): string[] {
  if (trace === undefined) return [];
  const { traceparent, tracestate } = trace;
  return tracestate === undefined ? ['traceparent', traceparent] : ['traceparent', traceparent, 'tracestate', tracestate];
}
