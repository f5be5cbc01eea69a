import type { Outcome } from '#delivery';
import { ConfigError, type DestinationConfig, type Hmacs } from '#runtime';
import type { Connector, ConnectorCapabilities, LookupQuery, LookupResult, OperationCall } from '../connector.js';
import { HttpCaller } from '../http/http-caller.js';
import { readAnswer } from './answer.js';
import { lookupPath, readLookup, unknownPlaceholders } from './lookup.js';
import { mappingVersion, webhookBody } from './mapping.js';
import { createSigner, type Signer } from './sign.js';

export interface WebhookOptions {
  name: string;
  config: DestinationConfig;
  /** `whsec_…`. */
  secret: string;
  /** Keyed hashes that tell whether a request is the same without keeping it. */
  hmacs: Pick<Hmacs, 'ref'>;
}

/**
 * Any HTTP CRM that takes signed JSON posts (Standard Webhooks). The operation key is `webhook-id` and `Idempotency-Key`: stable over every
 * attempt. With `native_idempotency` the receiver promises to answer a repeated key with its stored answer. With a lookup template an
 * operation can be found again.
 */
export class WebhookConnector implements Connector {
  readonly name: string;
  readonly capabilities: ConnectorCapabilities;
  readonly #config: DestinationConfig;
  readonly #signer: Signer;
  readonly #hmacs: Pick<Hmacs, 'ref'>;
  readonly #caller: HttpCaller;

  constructor({ name, config, secret, hmacs }: WebhookOptions) {
    checkLookups(name, config.lookup);
    this.name = name;
    this.#config = config;
    this.#signer = createSigner(secret);
    this.#hmacs = hmacs;
    this.#caller = new HttpCaller({ ...config, connections: config.concurrency });
    this.capabilities = {
      nativeIdempotency: config.nativeIdempotency,
      upsert: [],
      lookup: Object.keys(config.lookup),
      changedSince: false,
      batch: false,
      check: false,
    };
  }

  async perform(call: OperationCall): Promise<Outcome> {
    const body = webhookBody(call, this.#config.operations);
    const requestHash = this.#hmacs.ref(call.event.organization, body);
    if (call.pinned !== undefined && call.pinned.requestHash !== requestHash) {
      return { kind: 'permanent', class: 'conflict', code: 'request_changed' };
    }
    const result = await this.#caller.call({
      method: 'POST',
      path: this.#config.paths[call.kind] ?? `/${call.kind}`,
      headers: this.#headers(call, body),
      body,
      timeoutMs: call.timeoutMs,
    });
    const pin = result.kind === 'not_sent' ? {} : { requestHash, mappingVersion };
    return { ...readAnswer(result, Date.now()), ...pin };
  }

  async lookup(query: LookupQuery): Promise<LookupResult> {
    const template = this.#config.lookup[query.kind];
    if (template === undefined) return { kind: 'unknown', code: 'no_lookup' };
    const headers = ['accept', 'application/json', ...traceHeaders(query.trace)];
    const path = lookupPath(template, query);
    return readLookup(await this.#caller.call({ method: 'GET', path, headers, timeoutMs: query.timeoutMs }));
  }

  close(): Promise<void> {
    return this.#caller.close();
  }

  #headers(call: OperationCall, body: string): string[] {
    const seconds = Math.floor(Date.now() / 1_000);
    return [
      'content-type',
      'application/json',
      'webhook-id',
      call.operationKey,
      'webhook-timestamp',
      String(seconds),
      'webhook-signature',
      this.#signer.sign(call.operationKey, seconds, body),
      'idempotency-key',
      call.operationKey,
      ...traceHeaders(call.trace),
    ];
  }
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
