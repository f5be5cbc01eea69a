import type { Logger } from 'typeorm';

/** TypeORM's own logger prints statements, parameters and PostgreSQL's texts to the console; whoever catches the error logs it instead. */
export const silentLogger: Logger = {
  logQuery() {},
  logQueryError() {},
  logQuerySlow() {},
  logSchemaBuild() {},
  logMigration() {},
  log() {},
};
