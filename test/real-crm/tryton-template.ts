import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { type RunningProgram, stopProcess } from '#testkit';
import { type TrytonClient, trytonClient } from './tryton-client.js';
import {
  type TemplateFacts,
  type TrytonPlace,
  templateDatabase,
  trytonAdmin,
  trytonDesk,
  trytonGuest,
  trytonRobot,
} from './tryton-place.js';

const run = promisify(execFile);

export interface TemplateOptions {
  place: TrytonPlace;
  /** Of PostgreSQL. */
  url: string;
  /** File with the server's settings. */
  settings(database: string): string;
  serve(database: string): Promise<RunningProgram>;
  serverPort: number;
}

/** Makes the database that every suite gets a copy of: a company with two employees, and the users of the tests. */
export async function makeTemplate(options: TemplateOptions): Promise<Omit<TemplateFacts, 'data'>> {
  await createDatabase(options.url);
  await activateModules(options);
  const server = await options.serve(templateDatabase);
  try {
    const admin = await trytonClient(`http://127.0.0.1:${options.serverPort}/${templateDatabase}/`, trytonAdmin);
    return await furnish(admin);
  } finally {
    await stopProcess(server.identity, 'SIGTERM', 5_000);
  }
}

async function createDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${templateDatabase}`).finally(() => client.end());
}

async function activateModules({ place, settings }: TemplateOptions): Promise<void> {
  const admin = join(place.venv, 'bin', 'trytond-admin');
  const passwordFile = join(place.dir, 'admin-password');
  writeFileSync(passwordFile, `${trytonAdmin.password}\n`, { mode: 0o600 });
  const env = { ...process.env, TRYTONPASSFILE: passwordFile, LC_ALL: 'C.UTF-8' };
  const common = ['-c', settings(templateDatabase), '-d', templateDatabase];
  await run(admin, [...common, '--all', '--email', 'admin@example.test'], { env });
  await run(admin, [...common, '-u', 'sale_opportunity', '--activate-dependencies'], { env });
}

type Ids = [number, ...number[]];

async function furnish(admin: TrytonClient): Promise<Omit<TemplateFacts, 'data'>> {
  const create = (model: string, values: Record<string, unknown>[]) => admin.call<Ids>(`${model}.create`, [values]);
  const [currency] = await create('currency.currency', [{ name: 'Dollar', code: 'USD', symbol: '$' }]);
  const [ours, ada, grace] = await create('party.party', [{ name: 'Our company' }, { name: 'Ada Sales' }, { name: 'Grace Sales' }]);
  const [company] = await create('company.company', [{ party: ours, currency }]);
  const working = { companies: [['add', [company]]], company };
  await admin.call('res.user.write', [[admin.userId], working]);
  const [first = 0, second = 0] = await create('company.employee', [
    { party: ada, company },
    { party: grace, company },
  ]);
  const groups = await admin.call<{ id: number; name: string }[]>('res.group.search_read', [[], 0, null, null, ['name']]);
  const selling = groups.filter(({ name }) => /sale|party/i.test(name)).map(({ id }) => id);
  const users = [trytonRobot, trytonDesk].map(({ user, password }) => ({
    name: user,
    login: user,
    password,
    groups: [['add', selling]],
    ...working,
  }));
  await create('res.user', [...users, { name: 'Guest', login: trytonGuest.user, password: trytonGuest.password, ...working }]);
  return { company, employees: { ada: first, grace: second } };
}
