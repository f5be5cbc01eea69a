import { setTimeout as delay } from 'node:timers/promises';
import type { ChangedQuery, Connector, FoundRecord, ReadAnswer } from '#destinations';
import type { DestinationConfig } from '#runtime';
import { Pace } from './pace.js';
import { storable } from './storable.js';

/** The destination, or its configuration, has no such read. */
class Unsupported extends Error {
  override readonly name = 'Unsupported';
}

/** The destination will not be read, however often it is asked: the run ends. */
export class DestinationUnreadable extends Error {
  override readonly name = 'DestinationUnreadable';
  readonly safeMessage = true;
  constructor(code: string) {
    super(`the destination cannot be read (${code})`);
  }
}

export interface ReaderOptions {
  connector: Connector;
  config: DestinationConfig;
  signal: AbortSignal;
  /** Resolves when nothing live waits for the destination. */
  whenFree(): Promise<void>;
  /**
   * Failures of one call in a row, each of a class that passes, after which it is believed that this one does not: a page that breaks the
   * destination would hold up its comparison for ever. Default 60.
   */
  tries?: number;
}

export interface ReadRecords {
  /** Every record by key; a key under which nothing stands is not named. */
  byKey: Map<string, FoundRecord[]>;
  /** The destination only says that a record is there: no field of it can be compared. */
  presenceOnly: boolean;
}

export type ChangesQuery = Omit<ChangedQuery, 'timeoutMs'>;

/** A key that is read, and what it is a key of where it has to be looked up one by one. */
export interface KeyOf {
  key: string;
  eventId: string;
  personKey?: string;
}

/** Failures in a row after which a class that does not pass by itself is believed. */
const believedAfter = 3;
/** About half an hour of waiting, in which nothing says that the destination is away. */
const mostTries = 60;
const firstWaitMs = 500;
const longestWaitMs = 30_000;
/** Classes that a later try may not meet again. */
const passing: readonly string[] = ['throttled', 'transient', 'uncertain'];
/** Of the quota that the destination allows, what comparing may take. */
const shareOfQuota = 0.1;

/** Reads a destination in bulk, slowly, and after everything live. What fails for a time is asked again. */
export class DestinationReader {
  /** Calls made so far. */
  calls = 0;
  /** Kinds of which it turned out that they cannot be read in bulk. */
  private readonly notInBulk = new Set<string>();
  private readonly pace: Pace;

  constructor(private readonly options: ReaderOptions) {
    this.pace = new Pace(rateOf(options.config));
  }

  /** All records of a kind under these keys; undefined where the kind cannot be read at all. @throws DestinationUnreadable, AbortError */
  async byKeys(kind: string, keys: readonly KeyOf[]): Promise<ReadRecords | undefined> {
    const bulk = await this.byKeysInBulk(kind, keys);
    if (bulk !== undefined) return bulk;
    return this.options.connector.capabilities.lookup.includes(kind) ? this.oneByOne(kind, keys) : undefined;
  }

  /** The same; undefined where the kind can be looked up one by one alone, or not at all. */
  async byKeysInBulk(kind: string, keys: readonly KeyOf[]): Promise<ReadRecords | undefined> {
    if (!this.mayReadInBulk(kind)) return undefined;
    const bulk = await this.inBulk(kind, keys).catch(unlessUnsupported);
    if (bulk === undefined) this.notInBulk.add(kind);
    return bulk;
  }

  /** False once it is known that records of this kind are looked up one by one alone, or not at all. */
  mayReadInBulk(kind: string): boolean {
    return this.options.connector.capabilities.readMany !== undefined && !this.notInBulk.has(kind);
  }

  private async inBulk(kind: string, keys: readonly KeyOf[]): Promise<ReadRecords | undefined> {
    const most = this.options.connector.capabilities.readMany;
    const byKey = new Map<string, FoundRecord[]>();
    if (most === undefined) return undefined;
    for (let at = 0; at < keys.length; at += most) {
      const part = keys.slice(at, at + most).map(({ key }) => key);
      for (const record of await this.readAll({ kind, keys: part })) {
        if (record.key !== undefined) byKey.set(record.key, [...(byKey.get(record.key) ?? []), record]);
      }
    }
    return { byKey, presenceOnly: false };
  }

  /** All records of a kind with these references, by each reference that leads to one; nothing where the destination cannot be read so. */
  async byRefs(kind: string, refs: readonly string[]): Promise<Map<string, FoundRecord>> {
    return (await this.byRefsIfAny(kind, refs)) ?? new Map();
  }

  /** The same; undefined where the destination cannot be read so. */
  async byRefsIfAny(kind: string, refs: readonly string[]): Promise<Map<string, FoundRecord> | undefined> {
    const most = this.options.connector.capabilities.readMany;
    const byRef = new Map<string, FoundRecord>();
    if (most === undefined) return undefined;
    for (let at = 0; at < refs.length; at += most) {
      const records = await this.readAll({ kind, refs: refs.slice(at, at + most) }).catch(unlessUnsupported);
      if (records === undefined) return undefined;
      for (const record of records) for (const ref of [record.ref, ...(record.mergedRefs ?? [])]) byRef.set(ref, record);
    }
    return byRef;
  }

  /** One page of what changed; undefined where it does not tell. @throws DestinationUnreadable, AbortError */
  changes(query: ChangesQuery): Promise<{ records: FoundRecord[]; next?: string } | undefined> {
    const { connector, config } = this.options;
    return this.ask(() => connector.changedSince?.({ ...query, timeoutMs: config.lookupTimeoutMs })).catch(unlessUnsupported);
  }

  private async readAll(query: { kind: string; keys?: string[]; refs?: string[] }): Promise<FoundRecord[]> {
    const { connector, config } = this.options;
    return (await this.ask(() => connector.readMany?.({ ...query, timeoutMs: config.lookupTimeoutMs }))).records;
  }

  private async oneByOne(kind: string, keys: readonly KeyOf[]): Promise<ReadRecords> {
    const { connector, config } = this.options;
    const byKey = new Map<string, FoundRecord[]>();
    for (const { key, eventId, personKey } of keys) {
      const { records } = await this.ask(async () => {
        const found = await connector.lookup({ kind, eventId, personKey, timeoutMs: config.lookupTimeoutMs });
        if (found.kind === 'unknown')
          return { ok: false, class: found.throttled === undefined ? 'transient' : 'throttled', code: found.code };
        const refs = found.kind === 'found' ? [found.ref] : found.kind === 'several' ? found.refs : [];
        return { ok: true, records: refs.map((ref) => ({ kind, ref, key, fields: {} })) };
      });
      if (records.length > 0) byKey.set(key, records);
    }
    return { byKey, presenceOnly: true };
  }

  /** @param call undefined where the connector has no such call */
  private async ask(call: () => Promise<ReadAnswer> | undefined): Promise<{ records: FoundRecord[]; next?: string }> {
    const { signal, whenFree, tries = mostTries } = this.options;
    for (let failures = 1; ; failures += 1) {
      await whenFree();
      await this.pace.turn(signal);
      const asked = call();
      if (asked === undefined) throw new Unsupported();
      this.calls += 1;
      const answer = await asked;
      if (answer.ok) return { ...answer, records: answer.records.map(storable) };
      if (answer.class === 'unsupported') throw new Unsupported();
      const isPassing = passing.includes(answer.class);
      if (failures >= (isPassing ? tries : believedAfter)) throw new DestinationUnreadable(answer.code ?? answer.class);
      await delay(Math.max(answer.retryAfterMs ?? 0, Math.min(firstWaitMs * 2 ** failures, longestWaitMs)), undefined, { signal });
    }
  }
}

/** Calls per second: the configured ones, and no more than a share of the destination's quota. */
function rateOf({ reconcile, quota }: DestinationConfig): number {
  const rate = reconcile?.rate ?? 20;
  return quota === undefined ? rate : Math.min(rate, (shareOfQuota * quota.requests * 1_000) / quota.perMs);
}

function unlessUnsupported(error: unknown): undefined {
  if (error instanceof Unsupported) return undefined;
  throw error;
}
