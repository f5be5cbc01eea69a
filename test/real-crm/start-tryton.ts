import { readFileSync, rmSync } from 'node:fs';
import pg from 'pg';
import { cacheDir, freePortRange, stopProcess, uniqueName } from '#testkit';
import { prepareTryton } from './prepare-tryton.js';
import { type TrytonClient, trytonClient } from './tryton-client.js';
import { type TemplateFacts, templateDatabase, trytonAdmin, trytonDesk } from './tryton-place.js';
import { startDatabase, startServer } from './tryton-programs.js';

/** A Tryton of one suite's own, on a copy of the template. */
export interface Tryton extends Omit<TemplateFacts, 'data'> {
  /** Of the server, for `base_url`. */
  readonly url: string;
  readonly port: number;
  readonly database: string;
  /** A person who works there by hand. */
  readonly desk: TrytonClient;
  readonly admin: TrytonClient;
  /** What nobody can do by hand: ends every session, counts rows. */
  sql<R>(text: string, values?: readonly unknown[]): Promise<R[]>;
  stop(): Promise<void>;
}

/** Copies the template and serves it, and says how long that took: the copy is about a second, once Tryton is prepared. */
export async function startTryton(): Promise<Tryton> {
  const place = await prepareTryton(console.log);
  const { data, company, employees } = JSON.parse(readFileSync(place.template, 'utf8')) as TemplateFacts;
  const dir = cacheDir('stacks', uniqueName('tryton'));
  const base = await freePortRange(2);
  const startedAt = performance.now();
  const postgres = await startDatabase({ dir, port: base, copyOf: data });
  const clonedAt = performance.now();
  const [postgresPort, port] = [base, base + 1];
  const server = await startServer(place, { dir, postgresPort, port, database: templateDatabase });
  const [cloneMs, serverMs] = [clonedAt - startedAt, performance.now() - clonedAt].map(Math.round);
  console.log(`The template was cloned and its database up in ${cloneMs} ms; Tryton served it ${serverMs} ms later`);
  const atExit = (): void => {
    for (const { child } of [server, postgres]) child.kill('SIGKILL');
  };
  process.once('exit', atExit);
  const stop = async (): Promise<void> => {
    process.off('exit', atExit);
    await stopProcess(server.identity, 'SIGTERM', 5_000);
    await stopProcess(postgres.identity, 'SIGINT', 10_000);
    rmSync(dir, { recursive: true, force: true });
  };
  const pool = new pg.Pool({ connectionString: new URL(templateDatabase, postgres.url).href, max: 2 });
  pool.on('error', () => undefined);
  const url = `http://127.0.0.1:${port}`;
  const [desk, admin] = await Promise.all([trytonDesk, trytonAdmin].map((user) => trytonClient(`${url}/${templateDatabase}/`, user)));
  if (desk === undefined || admin === undefined) throw new Error('nobody could log in');
  return {
    ...{ company, employees, url, port, database: templateDatabase, desk, admin },
    sql: async <R>(text: string, values: readonly unknown[] = []) => (await pool.query(text, [...values])).rows as R[],
    stop: async () => {
      await pool.end();
      await stop();
    },
  };
}
