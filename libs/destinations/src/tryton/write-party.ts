import { type ComparedRecord, changedByPerson, changedSince, type Outcome } from '#delivery';
import type { TraceContext } from '#runtime';
import { failureOf, type RpcResult } from './answer.js';
import { foundContact } from './compare.js';
import { longestMerge } from './follow-merges.js';
import { comparable, type PartyFields } from './mapping.js';
import { readParties } from './read-records.js';
import { firstOf, type Mechanism, type Party } from './records.js';
import type { TrytonRpc } from './rpc.js';

export interface PartyWrite {
  /** The person's key: `code`, which no two parties share. */
  code: string;
  fields: PartyFields;
  /** What a new party gets where there is none: also what newer leads have written. */
  whole: PartyFields;
  /** The party's id, where it is known. */
  ref?: string;
  /** The party as it was compared: no other one is written, and none is made. */
  compared?: ComparedRecord;
  trace?: TraceContext;
  timeoutMs: number;
}

/** A record that several people change at once is read and written again so often. */
const mostTries = 4;

/**
 * Writes a person's party: the one under its id, else a new one, else the one that has the code already. Repeated, it changes nothing more.
 * A write that meets somebody else's begins anew with what is there now, unless it was approved for the party as it was compared.
 */
export class PartyWriter {
  readonly #endsAt: number;

  constructor(
    private readonly rpc: TrytonRpc,
    private readonly write: PartyWrite,
  ) {
    this.#endsAt = performance.now() + write.timeoutMs;
  }

  async run(): Promise<Outcome> {
    if (this.write.ref !== undefined) {
      const known = await this.#update([['id', '=', Number(this.write.ref)]]);
      if (known !== undefined) return known;
    }
    const { code, whole, compared } = this.write;
    if (compared !== undefined) return changedByPerson;
    const created = await this.#call('create', [[{ code, ...valuesOf(whole, undefined) }]]);
    if (created.kind === 'ok') return createdOutcome(created.value);
    if (created.kind !== 'refused') return failureOf(created);
    // Whatever the reason was said to be: where a party has the code, that was it.
    return (await this.#update([['code', '=', code]])) ?? failureOf(created);
  }

  /** `undefined`: there is no such party. */
  async #update(clauses: readonly unknown[]): Promise<Outcome | undefined> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const found = await this.#find(clauses);
      if (!('party' in found)) return found.outcome;
      const { party } = found;
      if (!this.#isAsCompared(party)) return changedByPerson;
      const values = valuesOf(this.write.fields, party);
      if (Object.keys(values).length === 0) return { kind: 'succeeded', ref: String(party.id) };
      const result = await this.#call('write', [[party.id], values], { _timestamp: timestampsOf(party) });
      if (result.kind === 'ok') return { kind: 'succeeded', ref: String(party.id), status: 200 };
      if (result.kind !== 'concurrent') return failureOf(result);
      if (this.write.compared !== undefined) return changedByPerson;
    }
    return failureOf({ kind: 'concurrent' });
  }

  /** Who wrote it last was looked at before the call; a version that is the same is of the same writer. */
  #isAsCompared(party: Party): boolean {
    const { compared } = this.write;
    if (compared === undefined) return true;
    const { version, changedAt: changed_at } = foundContact(party, { userId: Number.NaN });
    return changedSince({ result: 'found', version, changed_at }, compared) === 'same';
  }

  /** The party, or the one that it was merged into. */
  async #find(clauses: readonly unknown[]): Promise<{ party: Party } | { outcome?: Outcome }> {
    let where = clauses;
    for (let steps = 0; steps < longestMerge; steps += 1) {
      const read = await readParties(this.rpc, where, { ...this.#limits(), limit: 1 });
      if (!read.ok) return { outcome: failureOf(read.result) };
      const [party] = read.records;
      if (party === undefined) return {};
      if (party.replacedBy === undefined) return { party };
      where = [['id', '=', party.replacedBy]];
    }
    return { outcome: { kind: 'permanent', class: 'conflict', code: 'merged_in_a_circle' } };
  }

  #call(method: 'create' | 'write', params: readonly unknown[], context?: Record<string, unknown>): Promise<RpcResult> {
    return this.rpc.call({ method: `model.party.party.${method}`, params, context, ...this.#limits() });
  }

  #limits(): { trace?: TraceContext; timeoutMs: number } {
    return { trace: this.write.trace, timeoutMs: this.#endsAt - performance.now() };
  }
}

/** The id of a record that was just made. */
export function createdOutcome(value: unknown): Outcome {
  const [id] = Array.isArray(value) ? (value as unknown[]) : [];
  if (typeof id !== 'number') return { kind: 'uncertain', code: 'unexpected_answer', status: 200 };
  return { kind: 'succeeded', ref: String(id), status: 200 };
}

/** What has to be written so that the party has these fields; empty where it has them. */
function valuesOf(fields: PartyFields, party: Party | undefined): Record<string, unknown> {
  const wanted = comparable(fields);
  const mechanisms = (['email', 'phone'] as const).flatMap((kind): unknown[][] => {
    const value = fields[kind];
    const present = party && firstOf(party, kind);
    if (value === undefined || (present !== undefined && comparableValue(present) === wanted[kind])) return [];
    return present === undefined ? [['create', [{ type: kind, value }]]] : [['write', [present.id], { value }]];
  });
  const { name } = fields;
  return {
    ...(name !== undefined && name !== party?.name && { name }),
    ...(mechanisms.length > 0 && { contact_mechanisms: mechanisms }),
  };
}

const comparableValue = ({ kind, value }: Mechanism): string | undefined => comparable({ [kind]: value })[kind];

/** A person at the desk may have changed the number without touching the party. */
function timestampsOf({ id, timestamp, mechanisms }: Party): Record<string, string | undefined> {
  const own: [string, string | undefined][] = mechanisms.map((one) => [`party.contact_mechanism,${one.id}`, one.timestamp]);
  return Object.fromEntries([[`party.party,${id}`, timestamp], ...own].filter(([, at]) => at !== undefined));
}
