export interface ApplySchemasOptions {
  registryUrl: string;
  /** Folder `schemas` with <subject>/v<N>.avsc. */
  dir: string;
  /** Owner URL and PostgreSQL schema of each service that keeps the ids. */
  databases: readonly { url: string; schema: string }[];
  timeoutMs?: number;
}

export interface AppliedSchema {
  subject: string;
  version: number;
  id: number;
  registered: boolean;
}

/** Registers every schema in canonical form, sets the subjects' compatibility, stores the ids with each service. Can be repeated. */
export async function applySchemas(_options: ApplySchemasOptions): Promise<AppliedSchema[]> {
  throw new Error('not implemented');
}

/** Checks the folder alone, without a registry: rules of writing and compatibility with every earlier version. Empty = fine. */
export async function checkSchemas(_dir: string): Promise<{ file: string; problem: string }[]> {
  throw new Error('not implemented');
}
