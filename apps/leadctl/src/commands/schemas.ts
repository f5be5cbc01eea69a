import path from 'node:path';
import { applySchemas, checkSchemas, findSchemaIdTables } from '#messaging';
import type { Line } from '../output.js';

/** The folder `schemas` beside `dist`, wherever the command is run. */
export const schemasDir = path.join(import.meta.dirname, '../../../../../schemas');

export interface ApplyOptions {
  registryUrl: string;
  /** Database URL of the owner of all tables. */
  url: string;
  dir: string;
}

/** Registers the schemas and stores their ids with every service that keeps them. @throws see applySchemas */
export async function applyAllSchemas({ registryUrl, url, dir }: ApplyOptions): Promise<Line[]> {
  const applied = await applySchemas({ registryUrl, dir, databases: await findSchemaIdTables(url) });
  return applied.map(({ subject, version, id, registered }) => ({
    subject,
    version,
    id,
    result: registered ? 'registered' : 'known',
  }));
}

/** One line per problem. */
export function schemaProblems(dir: string): Line[] {
  return checkSchemas(dir).map(({ file, problem }) => ({ file, problem }));
}
