import type { Sql } from '#runtime';

/** One registered schema. After a registry lost its data a version can have several ids; the newest comes last. */
export interface KnownSchema {
  subject: string;
  version: number;
  id: number;
  /** Writer schema as JSON text. */
  schema: string;
}

export type SchemaIds = readonly KnownSchema[];

/** Table of subject -> schema id in each service's schema, written by `leadctl schemas apply`. For the service's first migration. */
export const schemaIdsDdl = '';

/** Every schema known to the service, oldest registration first. @throws ConfigError when the table is empty. */
export async function loadSchemaIds(_db: Sql): Promise<SchemaIds> {
  throw new Error('not implemented');
}
