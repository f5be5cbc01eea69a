import { ConfigError, type Sql } from '#runtime';

/** One registered schema. After a registry lost its data a version can have several ids; the newest comes last. */
export interface KnownSchema {
  subject: string;
  version: number;
  id: number;
  /** Writer schema as JSON text. */
  schema: string;
}

export type SchemaIds = readonly KnownSchema[];

/**
 * Table of subject -> schema id in each service's schema, written by `leadctl schemas apply`. For the service's first migration.
 * Rows are never replaced: records with an old id stay readable when a registry that lost its data hands out new ones.
 */
export const schemaIdsDdl = `
CREATE TABLE schema_id (
  subject text NOT NULL,
  version integer NOT NULL,
  id integer NOT NULL,
  schema text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (subject, id)
);
`;

/** Every schema known to the service, oldest registration first. @throws ConfigError when the table is empty. */
export async function loadSchemaIds(db: Sql): Promise<SchemaIds> {
  const rows = await db.sql<KnownSchema>(
    'schema_id.load',
    'SELECT subject, version, id, schema FROM schema_id ORDER BY applied_at, version',
    [],
  );
  if (rows.length > 0) return rows;
  throw new ConfigError([{ path: 'schema_id', problem: 'no schema ids are stored for this service', fix: 'Run `leadctl schemas apply`' }]);
}
