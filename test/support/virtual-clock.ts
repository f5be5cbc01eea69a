import pg from 'pg';

/** The clock of every service: PostgreSQL's with an offset, which can be moved on while they run. */
export class VirtualClock {
  private offsetMs = 0;

  private constructor(
    private readonly client: pg.Client,
    private readonly schemas: readonly string[],
  ) {}

  /** Takes over the clock of every schema that has one. */
  static async take(databaseUrl: string): Promise<VirtualClock> {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    client.on('error', () => undefined);
    const { rows } = await client.query<{ schema: string }>(
      `select quote_ident(n.nspname) as schema from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.proname = 'clock_now'`,
    );
    return new VirtualClock(
      client,
      rows.map(({ schema }) => schema),
    );
  }

  /** Moves all of them on in one transaction: no service is ahead of another. */
  async advance(ms: number): Promise<void> {
    this.offsetMs += ms;
    const functions = this.schemas.map(
      (schema) =>
        `create or replace function ${schema}.clock_now() returns timestamptz language sql volatile as $$select clock_timestamp() + interval '${this.offsetMs} milliseconds'$$`,
    );
    await this.client.query(functions.join(';'));
  }

  /** Rows of a query for what the services have stored. */
  async rows<R extends pg.QueryResultRow>(sql: string): Promise<R[]> {
    return (await this.client.query<R>(sql)).rows;
  }

  close(): Promise<void> {
    return this.client.end();
  }
}
