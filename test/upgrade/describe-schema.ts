import type pg from 'pg';

const questions = {
  columns: `
    select table_name, column_name, data_type, udt_name, collation_name, is_nullable, column_default, is_identity, generation_expression
    from information_schema.columns where table_schema = $1 order by table_name, column_name`,
  indexes: 'select tablename, indexname, indexdef from pg_indexes where schemaname = $1 order by indexname',
  constraints: `
    select conrelid::regclass::text as "table", conname, pg_get_constraintdef(oid) as definition
    from pg_constraint where connamespace = $1::regnamespace order by 1, 2`,
  settings: `select relname, reloptions from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'i') order by relname`,
};

/** All that a schema is but the order of its columns, so that two of them can be compared. */
export async function describeSchema(client: pg.Client, schema: string): Promise<Record<string, unknown[]>> {
  const described: Record<string, unknown[]> = {};
  for (const [part, question] of Object.entries(questions)) described[part] = (await client.query(question, [schema])).rows;
  return described;
}

/** Every row of every table of a schema but those of the record of migrations, by table. */
export async function readRows(client: pg.Client, schema: string, tables: readonly string[]): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {};
  for (const table of tables) {
    const { rows } = await client.query<{ row: unknown }>(`select to_jsonb(t) as row from ${schema}.${table} t order by ctid`);
    found[table] = rows.map(({ row }) => row);
  }
  return found;
}
