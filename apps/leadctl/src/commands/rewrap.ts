import type { InternalClient } from '#runtime';
import { clientOf, type Installation } from '../installation.js';
import type { Line } from '../output.js';

/** A pending revision moves to the vault when it is activated: it comes first, so that none is missed. */
const tables = ['pending_revision', 'vault', 'rejected'] as const;
/** A page of 200 takes a busy service a fraction of it. */
const timeoutMs = 10_000;
/** A page so often as a line of progress: 10,000 rows. */
const tellEvery = 50;

/** What intake answers to one page. */
interface Page {
  key: string;
  looked: number;
  rewrapped: number;
  unreadable: Record<string, number>;
  next: string | null;
}

interface Counts {
  looked: number;
  rewrapped: number;
  /** Rows that stay as they are: their key is not in the ring, or they are damaged. */
  unreadable: number;
}

export interface Rewrap {
  /** Key that everything else is under now. */
  key: string;
  tables: Record<(typeof tables)[number], Counts>;
  /** Key ids of the rows that could not be opened. Only other keys may leave the ring. */
  still_needed: string[];
}

/**
 * Has intake wrap every data key by its current key, a page at a time; says on `tell` how far it is. Broken off, it may be begun again: what is
 * done is passed over. Throws ConfigError, InternalUnavailable, InternalRefused.
 */
export async function rewrapAll(installation: Installation, tell: (line: string) => void): Promise<Rewrap> {
  const intake = clientOf(installation, 'intake', { caller: 'leadctl', timeoutMs });
  const needed = new Set<string>();
  try {
    const counted: Partial<Rewrap['tables']> = {};
    let current = '';
    for (const table of tables) {
      const { key, counts } = await rewrapTable(intake, table, { tell, needed });
      counted[table] = counts;
      current = key;
    }
    return { key: current, tables: counted as Rewrap['tables'], still_needed: [...needed].sort() };
  } finally {
    await intake.close();
  }
}

async function rewrapTable(
  intake: InternalClient,
  table: (typeof tables)[number],
  { tell, needed }: { tell: (line: string) => void; needed: Set<string> },
): Promise<{ key: string; counts: Counts }> {
  const counts: Counts = { looked: 0, rewrapped: 0, unreadable: 0 };
  let after: string | null = null;
  for (let pages = 1; ; pages += 1) {
    const page: Page = await intake.post<Page>('/internal/v1/vault:rewrap', { table, after });
    counts.looked += page.looked;
    counts.rewrapped += page.rewrapped;
    for (const [id, rows] of Object.entries(page.unreadable)) {
      counts.unreadable += rows;
      needed.add(id);
    }
    after = page.next;
    if (after === null || pages % tellEvery === 0) tell(`${table}: ${counts.looked} looked at, ${counts.rewrapped} re-wrapped`);
    if (after === null) return { key: page.key, counts };
  }
}

/** One line per table, then what the ring may lose. */
export function rewrapLines({ key, tables: counted, still_needed }: Rewrap): Line[] {
  const lines = tables.map((table): Line => ({ what: table, ...counted[table] }));
  const verdict =
    still_needed.length === 0
      ? `all under ${key}; the other keys may leave the ring`
      : `keep ${still_needed.join(', ')}: rows under it could not be opened`;
  return [...lines, { what: verdict }];
}
