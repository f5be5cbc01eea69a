import { randomUUID } from 'node:crypto';
import { operationKey } from '#contracts';
import type { LookedUp, Permit, ReplayFacts, ReplayGate, ReplayItemState } from '#delivery';
import type { ItemName, RecordState, ReplayOwner } from '../src/batches/replay-owner.js';
import type { OutboxRecord } from './replay-rig.js';

/** A delivered lead at its pretended owner, and what its destination holds of it: records by kind. */
export interface Delivered {
  facts: ReplayFacts;
  item?: string;
  closed: Set<string>;
  records: Record<string, string[]>;
  /** Calls that the destination took, as `kind ref`. */
  written: string[];
}

/** The service that owns delivered leads, with a destination that loses and changes records; repairs come through the real gate. */
export class PretendRepairs implements ReplayOwner {
  readonly deliveries = new Map<string, Delivered>();
  readonly states = new Map<string, RecordState>();
  /** Answers `unknown` to every lookup. */
  deaf = false;
  /** Refuses every write with this class. */
  failWith: string | undefined;

  constructor(private readonly gate: ReplayGate) {}

  delivered(eventId: string, leadRef: string): Delivered {
    const operations = ['contact', 'lead'].map((kind) => ({
      operation_key: operationKey(eventId, 'crm', kind),
      kind,
      state: 'succeeded' as const,
      ref: `${kind}-1`,
    }));
    const facts: ReplayFacts = {
      event_id: eventId,
      destination: 'crm',
      lead_ref: leadRef,
      state: 'delivered',
      deadline_at: new Date().toISOString(),
      generation: 1,
      operations,
      lookup: ['contact', 'lead'],
    };
    const one: Delivered = { facts, closed: new Set(), records: { contact: ['contact-1'], lead: ['lead-1'] }, written: [] };
    this.deliveries.set(eventId, one);
    return one;
  }

  async facts(names: readonly Omit<ItemName, 'item_id'>[]) {
    return names.map(({ event_id }) => this.deliveries.get(event_id)?.facts);
  }

  async items(items: readonly ItemName[]): Promise<ReplayItemState[]> {
    return items.map(({ item_id, event_id }) => {
      const one = this.deliveries.get(event_id);
      const refs = Object.fromEntries(one?.facts.operations.map(({ kind, ref = '' }) => [kind, ref]) ?? []);
      return {
        item_id,
        applied: one?.item === item_id,
        closed: one?.closed.has(item_id) ?? false,
        raised: false,
        state: one?.facts.state,
        class: one?.facts.class,
        refs,
      };
    });
  }

  close(items: readonly ItemName[]): Promise<ReplayItemState[]> {
    for (const { item_id, event_id } of items) {
      const one = this.deliveries.get(event_id);
      if (one !== undefined && one.item !== item_id) one.closed.add(item_id);
    }
    return this.items(items);
  }

  async lookUp(names: readonly Omit<ItemName, 'item_id'>[]): Promise<LookedUp[]> {
    return names.map(({ event_id, destination }) => {
      const one = this.deliveries.get(event_id);
      const operations = (one?.facts.operations ?? []).map(({ operation_key, kind }) => ({
        operation_key,
        kind,
        ...this.search(one, kind),
      }));
      return { event_id, destination, operations };
    });
  }

  private search(
    one: Delivered | undefined,
    kind: string,
  ): { result: 'found' | 'absent' | 'several' | 'unknown'; ref?: string; code?: string } {
    if (this.deaf) return { result: 'unknown', code: 'timeout' };
    const [ref, ...more] = one?.records[kind] ?? [];
    if (more.length > 0) return { result: 'several' };
    return ref === undefined ? { result: 'absent' } : { result: 'found', ref };
  }

  async read(records: readonly { ref: string }[]): Promise<RecordState[]> {
    return records.map(({ ref }) => this.states.get(ref) ?? { result: 'absent' });
  }

  /** Takes one record as the engine does: what is renewed is written over, what is forgotten is made anew. */
  async take(record: OutboxRecord): Promise<void> {
    const bytes = Object.fromEntries(Object.entries(record.headers).map(([name, text]) => [name, Buffer.from(text)]));
    const verdict = await this.gate.admit({ ...record, partition: 0, offset: 0n, timestampMs: 0, headers: bytes });
    if (verdict.kind === 'item') this.apply(verdict.permit);
  }

  private apply({ eventId, itemId, repair }: Permit): void {
    const one = this.deliveries.get(eventId);
    if (one === undefined || repair === undefined || one.closed.has(itemId) || one.item === itemId) return;
    if (one.facts.generation !== repair.generation) return void one.closed.add(itemId);
    const generation = repair.generation + 1;
    if (this.failWith !== undefined) {
      one.item = itemId;
      one.facts = { ...one.facts, generation, state: 'dead', class: this.failWith };
      return;
    }
    const forget = new Set(repair.forget?.map(({ operationKey: key }) => key));
    const renew = new Set(repair.renew.map(({ operationKey: key }) => key));
    const operations = one.facts.operations.map((operation) => {
      const { kind, operation_key: key } = operation;
      if (!forget.has(key) && !renew.has(key)) return operation;
      const ref = forget.has(key) ? `${kind}-${randomUUID()}` : (operation.ref ?? '');
      if (forget.has(key)) one.records[kind] = [...(one.records[kind] ?? []), ref];
      else this.states.set(ref, { result: 'found', version: `${generation}-${randomUUID()}`, changed_by: 'us' });
      one.written.push(`${kind} ${ref}`);
      return { ...operation, ref, operation_key: operationKey(eventId, 'crm', kind, generation) };
    });
    one.item = itemId;
    one.facts = { ...one.facts, generation, operations };
  }
}
