import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { headers, type LeadAccepted } from '#contracts';
import { type HistoryItem, type LookedUp, openReplayGate, type ReplayFacts, type ReplayGate, type ReplayItemState } from '#delivery';
import { type Database, type DestinationConfig, InternalUnavailable } from '#runtime';
import { batchStatesRoute } from '../src/batches/batch-states.js';
import type { ItemName, PayloadState, RecordState, ReplayOwner } from '../src/batches/replay-owner.js';
import type { BatchTools } from '../src/batches/tools.js';
import { readLetter } from '../src/dead-letters/read-letter.js';
import { deadLetterSources } from '../src/dead-letters/sources.js';
import { storeLetters } from '../src/dead-letters/store-letters.js';
import type { Permission } from '../src/people/permissions.js';
import { permissions } from '../src/people/permissions.js';
import type { Person } from '../src/people/person.js';
import { reconcilerApi } from '../src/reconciliation/reconciler-api.js';
import { deadLetterHeaders, deadRecord, historyOf, leadAccepted, PretendOwner, silent } from './rig.js';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const asJwk = (key: typeof privateKey): JWK => ({ ...(key.export({ format: 'jwk' }) as JWK), kid: 'p1' });

const topic = 'lead.accepted.crm-writer.crm.dlq';
export const replayOf = 'lead.accepted.crm-writer.crm.replay';
const sources = deadLetterSources(['crm']);

export const personOf = (subject: string, more: Partial<Person> = {}): Person => ({
  subject,
  name: subject,
  roles: ['admin'],
  permissions: permissions as readonly Permission[],
  organizations: '*',
  ...more,
});

/** One delivery at its pretended owner and what the destination holds of it. */
interface Pretended {
  facts: ReplayFacts;
  item?: string;
  closed: Set<string>;
  raised: boolean;
  records: string[];
  applied: number;
  durationMs?: number;
}

/** What an applied item comes to, by its event id. */
export type Behaviour = (eventId: string) => {
  state: 'delivered' | 'dead' | 'waiting' | 'uncertain';
  class?: string;
  code?: string;
  records?: number;
  /** Of its call. */
  durationMs?: number;
};

export interface OutboxRecord {
  id: string;
  topic: string;
  key: Buffer;
  value: Buffer;
  headers: Record<string, string>;
}

/**
 * The service that owns the deliveries, and its destination: takes records of the replay topic out of the outbox, through the real gate, and
 * does with each what a test says.
 */
export class PretendReplays implements ReplayOwner {
  readonly deliveries = new Map<string, Pretended>();
  readonly refused: string[] = [];
  behave: Behaviour = () => ({ state: 'delivered' });
  lookups = 0;
  down = false;
  /** Whether the destination cannot be asked, for all leads or for some. */
  noLookup: boolean | ((eventId: string) => boolean) = false;
  /** What records at the destination are now, by their reference. */
  readonly written = new Map<string, RecordState>();
  private unseen: Set<string> | undefined;

  constructor(private readonly gate: () => ReplayGate) {}

  /** From now on the first search for each record does not find it. */
  lagBehind(): void {
    this.unseen = new Set();
  }

  delivery(eventId: string): Pretended {
    const found = this.deliveries.get(`${eventId} crm`);
    if (found === undefined) throw new Error('no such delivery');
    return found;
  }

  async facts(names: readonly Omit<ItemName, 'item_id'>[]) {
    this.answer();
    return names.map(({ event_id, destination }) => this.deliveries.get(`${event_id} ${destination}`)?.facts);
  }

  async items(items: readonly ItemName[]): Promise<ReplayItemState[]> {
    this.answer();
    return items.map(({ item_id, event_id, destination }) => {
      const one = this.deliveries.get(`${event_id} ${destination}`);
      const said = { item_id, applied: one?.item === item_id, closed: one?.closed.has(item_id) ?? false, raised: one?.raised ?? false };
      const refs: Record<string, string> = one?.records[0] === undefined ? {} : { lead: one.records[0] };
      return { ...said, state: one?.facts.state, class: one?.facts.class, code: one?.facts.code, duration_ms: one?.durationMs, refs };
    });
  }

  close(items: readonly ItemName[]): Promise<ReplayItemState[]> {
    for (const { item_id, event_id, destination } of items) {
      const one = this.deliveries.get(`${event_id} ${destination}`);
      if (one !== undefined && one.item !== item_id) one.closed.add(item_id);
    }
    return this.items(items);
  }

  async lookUp(names: readonly Omit<ItemName, 'item_id'>[]): Promise<LookedUp[]> {
    this.answer();
    return names.map(({ event_id, destination }) => {
      const one = this.deliveries.get(`${event_id} ${destination}`);
      const operations = (one?.facts.operations ?? []).filter(({ kind }) => kind === 'lead');
      return {
        event_id,
        destination,
        operations: operations.map(({ operation_key, kind }) => ({ operation_key, kind, ...this.search(event_id, one) })),
      };
    });
  }

  async read(records: readonly { ref: string }[]): Promise<RecordState[]> {
    this.answer();
    return records.map(({ ref }) => this.written.get(ref) ?? { result: 'absent' });
  }

  private search(
    eventId: string,
    one: Pretended | undefined,
  ): { result: 'found' | 'absent' | 'several' | 'unknown'; ref?: string; code?: string } {
    if (typeof this.noLookup === 'function' ? this.noLookup(eventId) : this.noLookup) return { result: 'unknown', code: 'no_lookup' };
    this.lookups += 1;
    const first = this.unseen !== undefined && !this.unseen.has(eventId);
    this.unseen?.add(eventId);
    const [record, ...more] = first ? [] : (one?.records ?? []);
    if (more.length > 0) return { result: 'several' };
    return record === undefined ? { result: 'absent' } : { result: 'found', ref: record };
  }

  /** Takes one record as the engine does. */
  async take(record: OutboxRecord): Promise<void> {
    const bytes = Object.fromEntries(Object.entries(record.headers).map(([name, text]) => [name, Buffer.from(text)]));
    const verdict = await this.gate().admit({ ...record, partition: 0, offset: 0n, timestampMs: 0, headers: bytes });
    if (verdict.kind !== 'item') {
      this.refused.push(verdict.kind === 'refused' ? verdict.code : 'later');
      return;
    }
    const { eventId, destination, itemId, deadlineAt } = verdict.permit;
    const one = this.deliveries.get(`${eventId} ${destination}`);
    if (one === undefined || one.closed.has(itemId) || one.item === itemId) return;
    if (one.facts.state !== 'dead' && one.facts.state !== 'expired') return;
    const came = this.behave(eventId);
    one.item = itemId;
    one.applied += 1;
    one.raised = came.state === 'uncertain';
    one.durationMs = came.durationMs;
    if (came.state === 'delivered') for (let made = 0; made < (came.records ?? 1); made += 1) one.records.push(`L-${randomUUID()}`);
    one.facts = { ...one.facts, state: came.state, class: came.class, code: came.code, deadline_at: deadlineAt.toISOString() };
  }

  private answer(): void {
    if (this.down) throw new InternalUnavailable('down');
  }
}

export interface ReplayRig {
  db: Database;
  owner: PretendOwner;
  replays: PretendReplays;
  /** Opens what stands before every claim of a replayed record. */
  gate(): ReplayGate;
  tools: BatchTools;
  payloads: Map<string, PayloadState>;
  sql<R>(text: string, values?: unknown[]): Promise<R[]>;
  /** A lead that is dead at its owner and has its letter here. */
  dead(changes?: Parameters<typeof leadAccepted>[0], failure?: string): Promise<string>;
  outbox(): Promise<OutboxRecord[]>;
  /** Gives every record in the outbox to the owner once. */
  deliver(): Promise<number>;
  clear(): Promise<void>;
}

const crmConfig = {
  name: 'crm',
  nativeIdempotency: true,
  keyRetentionMs: 86_400_000,
  requiresConsent: true,
  timeoutMs: 2_000,
  lookupTimeoutMs: 2_000,
  searchLagMs: 100,
} as DestinationConfig;

function pretended(lead: LeadAccepted, history: HistoryItem, failure: string): Pretended {
  const pinned = { request_hash: 'v1:a', mapping_version: 1 };
  return {
    facts: {
      event_id: lead.event_id,
      destination: 'crm',
      lead_ref: lead.lead_ref,
      state: 'dead',
      class: failure,
      deadline_at: lead.deadline_at.toISOString(),
      generation: 1,
      operations: history.operations.map(({ operation_key, kind, state }) => ({ operation_key, kind, state, ...pinned })),
      mapping_version: 1,
      lookup: ['lead'],
    },
    closed: new Set(),
    raised: false,
    records: [],
    applied: 0,
  };
}

/** Batches over real tables, with an owner whose word is the test's. */
export function openReplayRig(db: Database): ReplayRig {
  const secretsDir = mkdtempSync(join(tmpdir(), 'replays-'));
  writeFileSync(join(secretsDir, 'permit-public.json'), JSON.stringify({ keys: [asJwk(publicKey)] }));
  const operator = { post: async <T>(): Promise<T> => (await batchStatesRoute(db)()) as T };
  const gate = () => openReplayGate({ secretsDir, operator, logger: silent });
  const owner = new PretendOwner();
  const payloads = new Map<string, PayloadState>();
  const sql = <R>(text: string, values: unknown[] = []) => db.sql<R>(createHash('sha1').update(text).digest('hex'), text, values);
  const outbox = () => sql<OutboxRecord>('SELECT id, topic, key, value, headers FROM outbox ORDER BY id');
  const rig: ReplayRig = {
    db,
    owner,
    replays: new PretendReplays(gate),
    gate,
    payloads,
    tools: {
      db,
      owners: new Map([['crm-writer', owner]]),
      replays: new Map(),
      reconciler: reconcilerApi(undefined),
      vault: { payloads: async (refs) => new Map(refs.map((ref) => [ref, payloads.get(ref) ?? 'kept'])) },
      site: {
        policies: { default: { name: 'default', attempts: 4, deadlineMs: 4 * 3_600_000, maxAgeMs: 7 * 86_400_000 } },
        destinations: { crm: crmConfig },
        channels: {},
        operator: { policies: { singleOperator: { max: 50 } } },
      },
      privateKey: asJwk(privateKey),
      relayWake: () => undefined,
      logger: silent,
    },
    sql,
    dead: async (changes = {}, failure = 'attempts_exhausted') => {
      const lead = leadAccepted(changes);
      const history = owner.add(historyOf(lead));
      const record = deadRecord(lead, { headers: deadLetterHeaders(lead, { [headers.errorClass]: failure }) });
      const source = sources.get(topic);
      if (source === undefined) throw new Error('no source');
      await storeLetters(db, [readLetter(record, source, lead)]);
      rig.replays.deliveries.set(`${lead.event_id} crm`, pretended(lead, history, failure));
      return lead.event_id;
    },
    outbox,
    deliver: async () => {
      const rows = await outbox();
      await sql('DELETE FROM outbox WHERE id = ANY ($1::bigint[])', [rows.map(({ id }) => id)]);
      for (const row of rows) await rig.replays.take(row);
      return rows.length;
    },
    clear: async () => {
      for (const table of ['dead_letter', 'replay_batch', 'replay_item', 'outbox']) await sql(`DELETE FROM ${table}`);
      owner.known.clear();
      payloads.clear();
      rig.replays = new PretendReplays(gate);
      rig.tools = { ...rig.tools, replays: new Map([['crm-writer', rig.replays]]) };
    },
  };
  rig.tools = { ...rig.tools, replays: new Map([['crm-writer', rig.replays]]) };
  return rig;
}
