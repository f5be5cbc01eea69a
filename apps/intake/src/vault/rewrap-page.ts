import { type KeyRing, rewrap, SealError, type Sql } from '#runtime';
import { rejectedAad, vaultAad } from './vault-aad.js';

/**
 * Tables that hold sealed data, in the order in which they are gone through. A pending revision that is activated meanwhile moves to the vault, which
 * comes after it.
 */
export const sealedTables = ['pending_revision', 'vault', 'rejected'] as const;
export type SealedTable = (typeof sealedTables)[number];

/** Rows of one page: small enough that its locks are over before anybody notices. */
export const rewrapRows = 200;

export interface RewrapPage {
  /** Key that everything is wrapped by afterwards. */
  key: string;
  /** Rows of the page, those already under the current key included. */
  looked: number;
  rewrapped: number;
  /** Rows under a key that the ring lacks, or damaged; left as they are. By key id. */
  unreadable: Record<string, number>;
  /** Where the next page begins; null after the last row. */
  next: string | null;
}

interface KeyRow {
  id: string;
  key_id: string;
  wrapped_key: Buffer;
}

/** A row's place in its table as one text, and how its sealed bytes are bound to it. The lead reference holds no space. */
const places = {
  pending_revision: {
    first: '00000000-0000-0000-0000-000000000000 - 0',
    page: `select correction_id || ' ' || lead_ref || ' ' || revision as id, key_id, wrapped_key from pending_revision
      where correction_id > split_part($1, ' ', 1)::uuid order by correction_id limit ${rewrapRows}`,
    row: `correction_id = split_part(new.id, ' ', 1)::uuid`,
    aad: (id: string): string => {
      const [, leadRef = '', revision] = id.split(' ');
      return vaultAad(leadRef, Number(revision));
    },
  },
  vault: {
    first: ' 0',
    page: `select lead_ref || ' ' || revision as id, key_id, wrapped_key from vault
      where (lead_ref, revision) > (split_part($1, ' ', 1), split_part($1, ' ', 2)::int) and sealed <> ''
      order by lead_ref, revision limit ${rewrapRows}`,
    row: `lead_ref = split_part(new.id, ' ', 1) and revision = split_part(new.id, ' ', 2)::int`,
    aad: (id: string): string => {
      const [leadRef = '', revision] = id.split(' ');
      return vaultAad(leadRef, Number(revision));
    },
  },
  rejected: {
    first: '00000000-0000-0000-0000-000000000000',
    page: `select rejected_id::text as id, key_id, wrapped_key from rejected
      where rejected_id > $1::uuid and sealed <> '' order by rejected_id limit ${rewrapRows}`,
    row: 'rejected_id = new.id::uuid',
    aad: rejectedAad,
  },
} as const;

/** Only where nobody changed the key meanwhile: two may re-wrap at once, or one purge what the other re-wraps. */
const updateSql = (table: SealedTable): string => `
update ${table} set key_id = $1, wrapped_key = new.wrapped_key
from unnest($2::text[], $3::text[], $4::bytea[]) as new(id, old_key_id, wrapped_key)
where ${places[table].row} and key_id = new.old_key_id
returning 1 as rewrapped`;

/**
 * Wraps the data keys of the next rows of a table by the ring's current key; the sealed data itself is not touched. Rows under that key already
 * are passed over, so that it can be begun again anywhere. Throws DatabaseUnavailable, StatementFailed.
 */
export async function rewrapPage(tools: { db: Sql; ring: KeyRing }, table: SealedTable, after: string | null): Promise<RewrapPage> {
  const { db, ring } = tools;
  const rows = await db.sql<KeyRow>(`vault.rewrap_page_${table}`, places[table].page, [after ?? places[table].first]);
  const unreadable: Record<string, number> = {};
  const moved = rows
    .filter((row) => row.key_id !== ring.current)
    .flatMap((row) => {
      const wrappedKey = wrappedByCurrent(ring, row, places[table].aad(row.id));
      if (wrappedKey === undefined) unreadable[row.key_id] = (unreadable[row.key_id] ?? 0) + 1;
      return wrappedKey === undefined ? [] : [{ ...row, wrappedKey }];
    });
  const values = [ring.current, moved.map(({ id }) => id), moved.map(({ key_id }) => key_id), moved.map(({ wrappedKey }) => wrappedKey)];
  const written = moved.length === 0 ? [] : await db.sql(`vault.rewrap_${table}`, updateSql(table), values);
  const next = rows.length < rewrapRows ? null : (rows.at(-1)?.id ?? null);
  return { key: ring.current, looked: rows.length, rewrapped: written.length, unreadable, next };
}

function wrappedByCurrent(ring: KeyRing, row: KeyRow, aad: string): Buffer | undefined {
  try {
    // The sealed bytes are not needed for it and stay where they are.
    return rewrap(ring, { keyId: row.key_id, wrappedKey: row.wrapped_key, sealed: Buffer.alloc(0) }, aad).wrappedKey;
  } catch (error) {
    if (error instanceof SealError) return undefined;
    throw error;
  }
}
