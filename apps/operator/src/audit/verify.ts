import { z } from 'zod';
import type { Sql } from '#runtime';
import { beforeFirst, type ChainedRow, chainedColumns, chainHash } from './chain.js';
import type { AuditHead, headReader } from './head.js';

const finding = z.object({
  kind: z.enum(['edit', 'gap', 'cut_tail', 'rewritten', 'unsealed', 'head']),
  seq: z.number().int().optional(),
  audit_id: z.string().optional(),
  detail: z.string(),
});
export type AuditFinding = z.infer<typeof finding>;

const head = z.object({ seq: z.number().int(), hash: z.string(), sealed_at: z.string() });

/** What a look at the whole chain found. */
export const auditReport = z.object({
  ok: z.boolean(),
  checked: z.number().int().describe('Rows of the chain.'),
  unsealed: z.number().int().describe('Rows that are not in the chain yet; those of the last second are nothing to worry about.'),
  head: head.nullable().describe('End of the chain as it is in the database.'),
  exported: head.nullable().describe('The signed head that it was compared with.'),
  findings: z.array(finding).describe('At most 100.'),
});
export type AuditReport = z.infer<typeof auditReport>;

export interface VerifyOptions {
  db: Sql;
  readHead: ReturnType<typeof headReader>;
  /** The exported head to compare with; undefined: there is none. */
  exported: string | undefined;
  /** True when there has to be one: heads are exported to a file. */
  headExpected: boolean;
}

const pageSize = 2_000;
const pageSql = `
SELECT s.seq, s.audit_id AS sealed_id, s.hash, s.sealed_at, ${chainedColumns}
FROM audit_seal s LEFT JOIN audit a USING (audit_id) WHERE s.seq > $1 ORDER BY s.seq LIMIT ${pageSize}`;
const unsealedSql = `
SELECT count(*) AS unsealed, count(*) FILTER (WHERE at < clock_now() - interval '1 minute') AS late, min(audit_id) AS first
FROM audit a WHERE NOT EXISTS (SELECT FROM audit_seal s WHERE s.audit_id = a.audit_id)`;

type PageRow = { seq: string; sealed_id: string; hash: Buffer; sealed_at: Date } & {
  [column in keyof ChainedRow]: ChainedRow[column] | null;
};

const most = 100;

/**
 * Walks the whole chain and compares it with its rows and with the exported head. Finds a changed row (`edit`), one that was taken out (`gap`), an
 * end that was cut off with its seals (`cut_tail`, known by the exported head alone), and a chain that was made anew (`rewritten`). A finding is
 * told once: behind it the chain is followed by the hash that stands there.
 */
export async function verifyAudit({ db, readHead, exported: text, headExpected }: VerifyOptions): Promise<AuditReport> {
  // Read before the chain: what is sealed meanwhile is only more than it says.
  const exported = text === undefined ? undefined : await readHead(text);
  const walk = new Walk(exported?.seq);
  let page: PageRow[];
  do {
    page = await db.sql<PageRow>('operator.audit_page', pageSql, [walk.seq]);
    for (const row of page) walk.step(row);
  } while (page.length > 0);
  const [open] = await db.sql<{ unsealed: string; late: string; first: string | null }>('operator.audit_open', unsealedSql, []);
  const late = Number(open?.late ?? 0);
  if (late > 0) {
    walk.find({ kind: 'unsealed', audit_id: open?.first ?? undefined, detail: `${late} rows older than a minute are not in the chain` });
  }
  for (const found of judgeHead({ walk, exported, given: text !== undefined, headExpected })) walk.find(found);
  return {
    ok: walk.findings.length === 0,
    checked: walk.checked,
    unsealed: Number(open?.unsealed ?? 0),
    head: walk.last === undefined ? null : shown(walk.last),
    exported: exported === undefined ? null : shown(exported),
    findings: walk.findings.slice(0, most),
  };
}

const shown = ({ seq, hash, sealedAt }: AuditHead) => ({ seq, hash: hash.toString('hex'), sealed_at: sealedAt.toISOString() });

class Walk {
  seq = 0;
  checked = 0;
  last: AuditHead | undefined;
  /** Hash that stands at the seq of the exported head. */
  atExported: Buffer | undefined;
  readonly findings: AuditFinding[] = [];
  private hash = beforeFirst;

  constructor(private readonly exportedSeq: number | undefined) {}

  find(found: AuditFinding): void {
    if (this.findings.length < most) this.findings.push(found);
  }

  step({ seq: seqText, sealed_id, hash, sealed_at, ...columns }: PageRow): void {
    const seq = Number(seqText);
    const expected = this.seq + 1;
    if (seq !== expected) {
      const which = expected === seq - 1 ? `Entry ${expected} is` : `Entries ${expected} to ${seq - 1} are`;
      this.find({ kind: 'gap', seq: expected, detail: `${which} missing from the chain` });
    } else if (columns.audit_id === null) {
      this.find({ kind: 'gap', seq, audit_id: sealed_id, detail: `Entry ${seq} was sealed and is not there any more` });
    } else if (!chainHash(this.hash, seq, columns as ChainedRow).equals(hash)) {
      this.find({ kind: 'edit', seq, audit_id: sealed_id, detail: `Entry ${seq} or its seal was changed after it was sealed` });
    }
    if (seq === this.exportedSeq) this.atExported = hash;
    this.seq = seq;
    this.hash = hash;
    this.checked += 1;
    this.last = { seq, hash, sealedAt: sealed_at };
  }
}

interface Compared {
  walk: Walk;
  exported: AuditHead | undefined;
  given: boolean;
  headExpected: boolean;
}

function judgeHead({ walk, exported, given, headExpected }: Compared): AuditFinding[] {
  if (exported === undefined) {
    if (given) return [{ kind: 'head', detail: 'The exported head carries no valid signature of this installation' }];
    const missing = headExpected && walk.checked > 0;
    return missing ? [{ kind: 'head', detail: 'There is no exported head: a cut end could not be seen' }] : [];
  }
  const { seq } = exported;
  if (walk.seq < seq) {
    const detail = `The chain ends at ${walk.seq}; its exported head is ${seq}: the end was cut off`;
    return [{ kind: 'cut_tail', seq: walk.seq + 1, detail }];
  }
  if (walk.atExported?.equals(exported.hash) === true) return [];
  return [{ kind: 'rewritten', seq, detail: `Entry ${seq} is not the one that was exported as head: the end was cut off or made anew` }];
}
