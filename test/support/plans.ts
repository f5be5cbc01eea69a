import type { Database } from '#runtime';

/** A node of a plan as `EXPLAIN (FORMAT JSON)` gives it; the figures of rows only with `ANALYZE`. */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

export interface Scan {
  type: string;
  index?: string;
  /** Given on, over all loops. */
  rows: number;
  /** Looked at and thrown away, over all loops. */
  removed: number;
}

/** A node and all below it. */
export const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** How a statement reads `delivery`, as run: it is run. */
export async function scansOf(db: Database, text: string, values: readonly unknown[] = []): Promise<Scan[]> {
  const [row] = await db.sql<{ 'QUERY PLAN': { Plan: PlanNode }[] }>('rig.explain', `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
  return (row?.['QUERY PLAN'] ?? [])
    .flatMap(({ Plan }) => nodesOf(Plan))
    .filter((node) => node['Relation Name'] === 'delivery' && node['Node Type'] !== 'ModifyTable')
    .map((node) => {
      const { 'Actual Rows': rows = 0, 'Actual Loops': loops = 1, 'Rows Removed by Filter': removed = 0 } = node;
      return { type: node['Node Type'], index: node['Index Name'], rows: Math.round(rows * loops), removed: removed * loops };
    });
}
