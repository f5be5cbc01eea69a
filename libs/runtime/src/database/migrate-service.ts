import type { MixedList } from 'typeorm';

/** Migration classes (TypeORM), in order. */
export type Migrations = MixedList<Function | string>;

export interface MigrateOptions {
  /** URL of a user that may create schemas and roles. */
  url: string;
  service: string;
  migrations: Migrations;
  /** Login user that is granted membership in the service's role; default: the user of `url`. */
  login?: string;
}

/**
 * Job: creates the role `ld_<service>`, the schema, grants and `clock_now()`, then runs the service's migrations as the owner.
 * Several at once queue under an advisory lock; a statement that waits more than 2 s for a table lock fails and can be run again.
 */
export async function migrateService(options: MigrateOptions): Promise<{ applied: string[] }> {
  void options;
  throw new Error('not implemented');
}
