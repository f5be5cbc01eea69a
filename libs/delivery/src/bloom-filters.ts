import type { Sql } from '#runtime';

/** The planner takes Bloom filters for dearer than they are, and would read the whole table or primary key instead. For one transaction. */
export const filtersOnlySql = `SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_seqscan', 'enable_indexscan', 'enable_indexonlyscan']) AS name`;

/** An index of Bloom filters, one for each so many pages of its table. */
export interface FilterIndex {
  table: string;
  index: string;
  pagesPerRange: number;
}

const functionOf = ({ index }: FilterIndex): string => `refresh_${index}`;

/**
 * Makes a function that builds the filters of some pages anew, with the rights of the table's owner: a filter never forgets, so where rows
 * are deleted and others take their place it would come to say yes to everything. Gives the first page that is left, or NULL.
 */
export function refreshFunctionDdl(filters: FilterIndex): string {
  const { table, index, pagesPerRange } = filters;
  return `
CREATE FUNCTION ${functionOf(filters)}(first_page bigint, ranges integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  page bigint := first_page;
  pages bigint := pg_relation_size('${table}') / current_setting('block_size')::bigint;
BEGIN
  FOR n IN 1..ranges LOOP
    EXIT WHEN page >= pages;
    PERFORM brin_desummarize_range('${index}', page);
    PERFORM brin_summarize_range('${index}', page);
    page := page + ${pagesPerRange};
  END LOOP;
  RETURN CASE WHEN page < pages THEN page END;
END $$`;
}

export const dropRefreshFunctionDdl = (filters: FilterIndex): string => `DROP FUNCTION ${functionOf(filters)}(bigint, integer)`;

/** About 16 MB of the table are read. */
const rangesPerTurn = 64;

/** Builds the filters of an index anew, some pages a turn, round and round. Called where rows were deleted. */
export class FilterRefresh {
  #page = '0';

  constructor(private readonly filters: FilterIndex) {}

  /** One turn. Throws DatabaseUnavailable, StatementFailed. */
  async turn(db: Sql): Promise<void> {
    const name = functionOf(this.filters);
    const rows = await db.sql<{ next: string | null }>(`filters.${name}`, `SELECT ${name}($1::bigint, $2) AS next`, [
      this.#page,
      rangesPerTurn,
    ]);
    this.#page = rows[0]?.next ?? '0';
  }
}
