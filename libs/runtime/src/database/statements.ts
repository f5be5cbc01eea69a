import type pg from 'pg';
import { metrics } from '../metrics/metrics.js';
import { DatabaseUnavailable, toDatabaseError } from './database-errors.js';

/** A connection that was checked out, with the function that gives it back (`true`: it is broken, throw it away). */
export interface Checkout {
  client: pg.PoolClient;
  release(broken: boolean): void;
}

/** Takes a connection from the pool. Throws DatabaseUnavailable. */
export function checkOut(pool: pg.Pool): Promise<Checkout> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client, release) => {
      if (client === undefined || error) reject(counted(toDatabaseError(error)));
      else resolve({ client, release: (broken) => release(broken) });
    });
  });
}

export interface Statement {
  name: string;
  text: string;
  values: readonly unknown[];
}

/** Runs one named prepared statement on a connection. Throws DatabaseUnavailable or StatementFailed. */
export function runStatement<R>(client: pg.PoolClient, { name, text, values }: Statement): Promise<R[]> {
  return new Promise<R[]>((resolve, reject) => {
    // The driver's callback form: its promise form captures a stack per call, which shows at thousands of statements a second.
    client.query({ name, text, values: values as unknown[] }, (error: Error | null | undefined, result: { rows: unknown[] }) => {
      if (error) reject(counted(toDatabaseError(error, name)));
      else resolve(result.rows as R[]);
    });
  });
}

function counted(error: Error): Error {
  if (error instanceof DatabaseUnavailable) metrics.databaseUnavailable.inc({ code: error.code });
  return error;
}
