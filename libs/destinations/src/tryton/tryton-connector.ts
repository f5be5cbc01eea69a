import type { LeadAccepted, LeadPayload } from '#contracts';
import type { LookupResult, OnCallTime, Outcome } from '#delivery';
import type { DestinationConfig, Hmacs, TrytonConfig } from '#runtime';
import type {
  ChangedQuery,
  Connector,
  ConnectorCapabilities,
  ExpectedLead,
  ExpectedRecord,
  LookupQuery,
  OperationCall,
  ReadAnswer,
  ReadQuery,
} from '../connector.js';
import type { OwnerOf } from '../owner.js';
import { mappingVersion } from '../webhook/mapping.js';
import { checkRights } from './check.js';
import { expectedRecord } from './compare.js';
import { opportunityFields, type PartyFields, partyFields } from './mapping.js';
import { mostKeys, readByKeys, readChanged } from './read-many.js';
import { TrytonRpc } from './rpc.js';
import { writeOpportunity } from './write-opportunity.js';
import { PartyWriter } from './write-party.js';

export interface TrytonOptions {
  name: string;
  config: DestinationConfig;
  tryton: TrytonConfig;
  /** Of the user. */
  password: string;
  /** Keyed hashes that tell whether a request is the same without keeping it. */
  hmacs: Pick<Hmacs, 'ref'>;
  ownerOf: OwnerOf;
  /** Told how long writes took. */
  onTime?: OnCallTime;
}

/**
 * A party's code is unique, so that a person's record may be written any number of times. Nothing keeps two opportunities from having the
 * same reference: a create without an answer is looked up before it is repeated.
 */
export const trytonCapabilities: ConnectorCapabilities = {
  nativeIdempotency: false,
  upsert: ['contact'],
  lookup: ['contact', 'lead'],
  changedSince: true,
  readMany: mostKeys,
  batch: false,
  check: true,
};

/**
 * Tryton 7.0 over JSON-RPC. A person is a party whose `code` is the person's key, an enquiry is an opportunity whose `reference` is the
 * event's id, and what routing calls its owner is the opportunity's employee.
 */
export class TrytonConnector implements Connector {
  readonly name: string;
  readonly capabilities = trytonCapabilities;
  readonly #options: TrytonOptions;
  readonly #rpc: TrytonRpc;

  constructor(options: TrytonOptions) {
    this.name = options.name;
    this.#options = options;
    const { config, tryton, password, onTime } = options;
    this.#rpc = new TrytonRpc({ ...config, config: tryton, password, onTime });
  }

  async perform(call: OperationCall): Promise<Outcome> {
    const { fields } = expectedRecord(call, undefined);
    const requestHash = this.#options.hmacs.ref(call.event.organization, JSON.stringify([call.kind, fields, call.refs.contact]));
    if (call.pinned !== undefined && call.pinned.requestHash !== requestHash) {
      return { kind: 'permanent', class: 'conflict', code: 'request_changed' };
    }
    const written = call.kind === 'contact' ? withoutNewer(partyFields(call.payload), call.contact?.newer ?? []) : fields;
    const touched = this.#options.config.protectedFields.find((name) => Object.hasOwn(written, name));
    if (touched !== undefined) return { kind: 'permanent', class: 'protected_field', code: touched };
    const outcome = call.kind === 'contact' ? await this.#writePerson(call, written) : await this.#writeLead(call);
    const unsent = outcome.kind === 'transient' && outcome.code !== 'changed_meanwhile';
    return unsent ? outcome : { ...outcome, requestHash, mappingVersion };
  }

  #writePerson({ payload, contact, compared, trace, timeoutMs }: OperationCall, fields: PartyFields): Promise<Outcome> {
    if (contact?.ref !== undefined && Object.keys(fields).length === 0) {
      // Newer leads of the person have written every field already.
      return Promise.resolve({ kind: 'succeeded', ref: contact.ref });
    }
    const write = { code: payload.person_key, fields, whole: partyFields(payload), ref: contact?.ref, compared, trace, timeoutMs };
    return new PartyWriter(this.#rpc, write).run();
  }

  #writeLead(call: OperationCall): Promise<Outcome> {
    const { event, refs, trace, timeoutMs } = call;
    return writeOpportunity(this.#rpc, {
      reference: event.event_id,
      fields: opportunityFields(call),
      party: refs.contact,
      employee: this.#employeeOf(event),
      ref: refs[call.kind],
      trace,
      timeoutMs,
    });
  }

  contactFields(_event: LeadAccepted, payload: LeadPayload): readonly string[] {
    return Object.keys(partyFields(payload));
  }

  repeatable(kind: string): boolean {
    return kind === 'contact';
  }

  async lookup({ kind, eventId, personKey, trace, timeoutMs }: LookupQuery): Promise<LookupResult> {
    const key = kind === 'contact' ? personKey : eventId;
    if (key === undefined) return { kind: 'unknown', code: 'no_person_key' };
    const read = await readByKeys(this.#rpc, { kind, keys: [key], trace, timeoutMs: this.#lookupMs(timeoutMs) });
    if (!read.ok) {
      const throttled = read.class === 'throttled' ? { afterMs: read.retryAfterMs } : undefined;
      return { kind: 'unknown', code: read.code ?? read.class, ...(throttled && { throttled }) };
    }
    const refs = read.records.map(({ ref }) => ref);
    if (refs.length > 1) return { kind: 'several', refs };
    return refs[0] === undefined ? { kind: 'absent' } : { kind: 'found', ref: refs[0] };
  }

  readMany(query: ReadQuery): Promise<ReadAnswer> {
    return readByKeys(this.#rpc, { ...query, timeoutMs: this.#lookupMs(query.timeoutMs) });
  }

  changedSince(query: ChangedQuery): Promise<ReadAnswer> {
    return readChanged(this.#rpc, { ...query, timeoutMs: this.#lookupMs(query.timeoutMs) });
  }

  expected(lead: ExpectedLead): ExpectedRecord {
    return expectedRecord(lead, this.#employeeOf(lead.event));
  }

  check(): Promise<{ ok: boolean; code?: string }> {
    return checkRights(this.#rpc, this.#options.config.lookupTimeoutMs);
  }

  close(): Promise<void> {
    return this.#rpc.close();
  }

  #lookupMs(timeoutMs: number): number {
    return Math.min(timeoutMs, this.#options.config.lookupTimeoutMs);
  }

  #employeeOf(event: LeadAccepted): number | undefined {
    const owner = this.#options.ownerOf(event);
    return owner === undefined ? undefined : this.#options.tryton.employees[owner];
  }
}

function withoutNewer(fields: PartyFields, newer: readonly string[]): PartyFields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !newer.includes(name)));
}
