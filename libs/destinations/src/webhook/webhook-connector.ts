import type { LeadAccepted, LeadPayload } from '#contracts';
import { changedByPerson, type KnownContact, type LookupResult, type OnCallTime, type Outcome } from '#delivery';
import { ConfigError, type DestinationConfig, type Hmacs } from '#runtime';
import type { Connector, ConnectorCapabilities, ExpectedLead, ExpectedRecord, LookupQuery, OperationCall } from '../connector.js';
import { HttpCaller, type HttpResult } from '../http/http-caller.js';
import { readAnswer } from './answer.js';
import { lacksPerson, lookupPath, readLookup, unknownPlaceholders, updatePath } from './lookup.js';
import { expectedRecord, firstWritten, mappingVersion, personField, type WebhookBody, webhookBody, without } from './mapping.js';
import { readers } from './reading.js';
import { createSigner, type Signer } from './sign.js';

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

const contactKind = 'contact';
/** Lookups and checks have connections of their own: they get through while every write hangs, and hold up none. */
const readConnections = 4;
/** What is read to compare has connections of its own too, and answers that are long. */
const compareConnections = 2;
const longestPageBytes = 8 * 1_048_576;

/** What a lead would have sent, with its text: one serialization serves its hash and its request. */
interface Full {
  body: WebhookBody;
  text: string;
}

interface GetOptions {
  timeoutMs: number;
  trace?: OperationCall['trace'];
  by?: HttpCaller;
}

interface Request {
  method: 'POST' | 'PATCH' | 'PUT';
  path: string;
  body: WebhookBody;
  /** The body as it is sent. */
  text: string;
  /** It writes over a record that is there already. */
  changes: boolean;
  /** The record is named by its id. */
  known: boolean;
  /** It is written only while it has this version. */
  ifMatch?: string;
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
    const body = webhookBody(call, this.#config.operations);
    const full: Full = { body, text: JSON.stringify(body) };
    const requestHash = this.#hmacs.ref(call.event.organization, full.text);
    if (call.pinned !== undefined && call.pinned.requestHash !== requestHash) {
      return { kind: 'permanent', class: 'conflict', code: 'request_changed' };
    }
    if (call.kind !== contactKind && call.refs[call.kind] !== undefined && this.#config.updates[call.kind] === undefined) {
      // It is there, and nobody said how it is changed: posted, it would be there twice.
      return { kind: 'permanent', class: 'conflict', code: 'cannot_change' };
    }
    const request = this.#request(call, full);
    if (request.changes && Object.keys(request.body).every((name) => name === personField)) {
      // Newer leads of the person have written every field already.
      return { kind: 'succeeded', ref: call.contact?.ref };
    }
    const written = firstWritten(request.body, this.#config.protectedFields);
    if (written !== undefined) return { kind: 'permanent', class: 'protected_field', code: written };
    const startedAt = performance.now();
    const result = await this.#send(call, request);
    if (call.compared !== undefined && request.known && (isGone(result) || isAnother(result)))
      return { ...changedByPerson, requestHash, mappingVersion };
    if (request.known && call.kind === contactKind && isGone(result)) {
      const leftMs = call.timeoutMs - (performance.now() - startedAt);
      return this.#anew(call, full, { requestHash, leftMs });
    }
    return this.#read(call, result, requestHash);
  }

  /**
   * The person's record was deleted there, or merged into another. With a key the call to make a new one may follow at once; without it the
   * attempt ends here, so that the next one is marked as a call that makes a record.
   */
  async #anew(call: OperationCall, full: Full, { requestHash, leftMs }: { requestHash: string; leftMs: number }): Promise<Outcome> {
    const written = firstWritten(full.body, this.#config.protectedFields);
    if (written !== undefined) return { kind: 'permanent', class: 'protected_field', code: written };
    if (!this.#config.nativeIdempotency || leftMs < 1)
      return { kind: 'transient', code: 'contact_gone', provablyNotExecuted: true, gone: true, status: 404 };
    const request = this.#request({ ...call, contact: undefined }, full);
    return this.#read(call, await this.#send({ ...call, timeoutMs: leftMs }, request), requestHash);
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

  #request({ kind, contact, refs, compared }: OperationCall, full: Full): Request {
    const update = this.#config.updates[kind];
    const ref = kind === contactKind ? contact?.ref : refs[kind];
    const known = ref !== undefined && update !== undefined;
    const body = without(full.body, [...(contact?.newer ?? []), ...(known ? this.#notOurs(kind) : [])]);
    const text = body === full.body ? full.text : JSON.stringify(body);
    if (known) {
      const ifMatch = update.ifMatch ? compared?.version : undefined;
      return { method: update.method, path: updatePath(update.path, ref), body, text, changes: true, known, ifMatch };
    }
    const changes = contact !== undefined && contact.newer.length > 0;
    return { method: 'POST', path: this.#config.paths[kind] ?? `/${kind}`, body, text, changes, known: false };
  }

  /**
   * What is written when a record is made and not when it is changed: fields whose truth is the destination's. Of a lead also those that
   * whoever wrote last is right about: a lead is submitted once, so that was somebody there.
   */
  #notOurs(kind: string): string[] {
    const truths = Object.entries(this.#config.reconcile?.fields ?? {});
    return truths.filter(([, truth]) => truth === 'theirs' || (truth === 'newest' && kind !== contactKind)).map(([name]) => topOf(name));
  }

  #send(call: OperationCall, { method, path, text: body, changes, ifMatch }: Request): Promise<HttpResult> {
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

/** `custom` of `custom.owner`: a part of an object cannot be left out of a change without being emptied. */
const topOf = (name: string): string => name.split('.')[0] ?? name;

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

function checkLookups(name: string, lookup: Record<string, string>): void {
  const problems = Object.entries(lookup).flatMap(([kind, template]) =>
    unknownPlaceholders(template).map((placeholder) => ({
      path: `destinations.${name}.lookup.${kind}`,
      problem: `has the unknown placeholder {${placeholder}}`,
      fix: 'Use {person_key}, {external_id} or {event_id}',
    })),
  );
  if (problems.length > 0) throw new ConfigError(problems);
}
