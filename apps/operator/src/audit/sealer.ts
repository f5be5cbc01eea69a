import type { JWK } from 'jose';
import type { Database, Logger, Tx } from '#runtime';
import { beforeFirst, type ChainedRow, chainedColumns, chainHash } from './chain.js';
import { type AuditHead, headReader, readHeadFile, signHead, writeHeadFile } from './head.js';

export interface SealerOptions {
  db: Database;
  privateKey: JWK;
  /** Readers of the heads that were exported before: during a change of keys the old and the new one. */
  readHead: ReturnType<typeof headReader>;
  /** Where the head is exported to; absent: to the log alone. */
  headFile?: string;
  logger: Logger;
}

const pageSize = 1_000;

/** One process at a time; who comes second has nothing to do. */
const lockSql = `SELECT pg_try_advisory_xact_lock(hashtext(current_schema() || ' audit seal')) AS locked`;
const lastSql = 'SELECT seq, hash, sealed_at FROM audit_seal ORDER BY seq DESC LIMIT 1';
const unsealedSql = `
SELECT ${chainedColumns} FROM audit a
WHERE a.audit_id > $1 AND NOT EXISTS (SELECT FROM audit_seal s WHERE s.audit_id = a.audit_id) ORDER BY a.audit_id LIMIT ${pageSize}`;
const sealSql = `
INSERT INTO audit_seal (seq, audit_id, hash, sealed_at)
SELECT seq, audit_id, hash, clock_now() FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS s(seq, audit_id, hash)`;
const floorSql = 'SELECT coalesce(max(audit_id), 0) AS floor FROM audit_seal';
const hashSql = 'SELECT hash FROM audit_seal WHERE seq = $1';

/**
 * Ids are given before rows are committed, so that a row may come behind one that is sealed. At first and every ten minutes all rows are looked at;
 * between, those beyond what was the last sealed one at the look before. No transaction stays open as long as that.
 */
const lookAtAllEveryMs = 600_000;

interface SealRow {
  seq: string;
  hash: Buffer;
  sealed_at: Date;
}

/** Chains the rows of the audit after they are committed, and exports the signed end of the chain. */
export class AuditSealer {
  private floor = '0';
  private nextFloor = '0';
  private lookAtAllAt = 0;
  private exportedSeq = -1;
  private complainedSeq = -1;

  constructor(private readonly options: SealerOptions) {}

  /** Seals what has been committed since, and exports the head when it is another. Gives the number of rows. */
  async seal(): Promise<number> {
    const { db } = this.options;
    let sealed = 0;
    let full = true;
    while (full) {
      const count = await db.transaction((tx) => this.sealPage(tx));
      sealed += count;
      full = count === pageSize;
    }
    if (this.looksAtAll()) {
      const [row] = await db.sql<{ floor: string }>('operator.audit_floor', floorSql, []);
      [this.floor, this.nextFloor] = [this.nextFloor, row?.floor ?? '0'];
      this.lookAtAllAt = performance.now() + lookAtAllEveryMs;
    }
    await this.exportHead();
    return sealed;
  }

  private looksAtAll(): boolean {
    return performance.now() >= this.lookAtAllAt;
  }

  private async sealPage(tx: Tx): Promise<number> {
    const [lock] = await tx.sql<{ locked: boolean }>('operator.audit_lock', lockSql, []);
    if (lock?.locked !== true) return 0;
    const from = this.looksAtAll() ? '0' : this.floor;
    const rows = await tx.sql<ChainedRow>('operator.audit_unsealed', unsealedSql, [from]);
    if (rows.length === 0) return 0;
    const [last] = await tx.sql<SealRow>('operator.audit_last', lastSql, []);
    const first = Number(last?.seq ?? 0) + 1;
    let hash = last?.hash ?? beforeFirst;
    const hashes = rows.map((row, index) => {
      hash = chainHash(hash, first + index, row);
      return hash;
    });
    await tx.sql('operator.audit_seal', sealSql, [rows.map((_, index) => first + index), rows.map(({ audit_id }) => audit_id), hashes]);
    return rows.length;
  }

  private async exportHead(): Promise<void> {
    const { db, privateKey, headFile, logger } = this.options;
    const [last] = await db.sql<SealRow>('operator.audit_last', lastSql, []);
    const seq = Number(last?.seq ?? 0);
    if (seq === this.exportedSeq || !(await this.standsOnExported(seq))) return;
    this.exportedSeq = seq;
    if (last === undefined) return;
    const head: AuditHead = { seq, hash: last.hash, sealedAt: last.sealed_at };
    const jws = await signHead(head, privateKey);
    if (headFile !== undefined) writeHeadFile(headFile, jws);
    logger.info({ unit: 'audit', seq, audit_head: jws }, 'Audit sealed');
  }

  /** The chain still holds the head that was exported last. Where it does not, that head is kept: it is what shows that something is missing. */
  private async standsOnExported(seq: number): Promise<boolean> {
    const { db, headFile, readHead, logger } = this.options;
    const text = headFile === undefined ? undefined : readHeadFile(headFile);
    if (text === undefined) return true;
    const exported = await readHead(text);
    const [row] = exported === undefined ? [] : await db.sql<{ hash: Buffer }>('operator.audit_hash', hashSql, [exported.seq]);
    if (exported !== undefined && row?.hash.equals(exported.hash) === true) return true;
    if (seq !== this.complainedSeq) {
      const fix = 'run leadctl audit verify, and move the head away once that is explained';
      logger.error({ unit: 'audit', seq: exported?.seq }, `The audit chain does not hold its exported head, which is kept: ${fix}`);
    }
    this.complainedSeq = seq;
    return false;
  }
}
