import { testDatabase } from '#testkit';
import { lettersArea } from '../../apps/operator/src/dead-letters/letters.controller.js';
import { createApp } from '../../apps/operator/src/http/create-app.js';
import { leadsArea } from '../../apps/operator/src/leads/leads.controller.js';
import { ownerApi } from '../../apps/operator/src/owners/owner-api.js';
import { permissions } from '../../apps/operator/src/people/permissions.js';
import type { Person } from '../../apps/operator/src/people/person.js';
import { storeMany } from '../../apps/operator/test/many-letters.js';
import { codec, openOperatorDatabase, silent } from '../../apps/operator/test/rig.js';
import { benchLargeBatch } from './operator/large-batches.js';
import { openDeliveries } from './operator/open-deliveries.js';
import { searchedLeads } from './operator/searched-leads.js';
import { type BenchResult, writeReport } from './report.js';

/**
 * Lists, groups, searches and a batch over BENCH_LETTERS dead letters (default 100,000; destinations, classes and schema ids fall off as 1/n), and
 * as many deliveries that are held and that are uncertain, over HTTP. Each request is asked first by a service that was just opened, then again with new letters coming in between: what was asked first is told
 * apart, since the person on call asks once.
 */
const letters = Number(process.env.BENCH_LETTERS ?? 100_000);
const rounds = 20;
const perRound = 5;
const goalMs = 200;

const person = (organizations: Person['organizations']): Person => ({
  subject: 'ada',
  name: 'Ada',
  roles: ['admin'],
  permissions,
  organizations,
});

interface Asked {
  path: string;
  /** Somebody of one organization asks. */
  scoped?: boolean;
  body?: object;
}
const requests: Record<string, Asked> = {
  'list, oldest first': { path: '/v1/dead-letters' },
  'list of the tab dead, newest first': { path: '/v1/dead-letters?tab=dead&order=newest' },
  'list by the time for an answer': { path: '/v1/dead-letters?order=due' },
  'list of the commonest class': { path: '/v1/dead-letters?class=attempts_exhausted&limit=200' },
  'list of the rarest class, destination and schema': { path: '/v1/dead-letters?class=routing&destination=archive&schema_id=11' },
  'list of one organization': { path: '/v1/dead-letters', scoped: true },
  'list of a code that none has': { path: '/v1/dead-letters?code=nothing' },
  'all groups': { path: '/v1/dead-letters/groups' },
  'groups of one destination': { path: '/v1/dead-letters/groups?destination=crm&tab=dead' },
  'groups of one organization': { path: '/v1/dead-letters/groups', scoped: true },
  'list by lead reference': { path: '/v1/dead-letters?q_ref=L-777' },
  'list of the tab held': { path: '/v1/dead-letters?tab=held' },
  'list of the tab held, one destination': { path: '/v1/dead-letters?tab=held&destination=crm' },
  'groups of the tab held': { path: '/v1/dead-letters/groups?tab=held' },
  'list of the tab uncertain, newest first': { path: '/v1/dead-letters?tab=uncertain&order=newest' },
  'groups of the tab uncertain': { path: '/v1/dead-letters/groups?tab=uncertain' },
};

const database = await testDatabase('operator_bench');
const filling = await openOperatorDatabase(database.url);
await storeMany(filling, letters);
await filling.close();

const open = await openDeliveries(letters);
const leads = await searchedLeads(letters);
for (const [what, text] of Object.entries(leads.texts)) requests[`search by ${what}`] = { path: '/v1/search', body: { text } };
const nowhere = { text: 'nothing-of-this-name' };
requests['search by an id that nobody has'] = { path: '/v1/search', body: nowhere };

async function openDesk() {
  const db = await openOperatorDatabase(database.url);
  const { clients } = leads;
  const owners = new Map([['crm-writer', ownerApi(clients.get('crm-writer') as never)]]);
  const searching = await leadsArea({ db, owners, clients, site: {}, logger: silent } as never);
  const waiting = new Map([['crm-writer', open.client]]);
  const area = await lettersArea({ db, codec, owners, clients: waiting } as never);
  const app = await createApp(
    { inbox: {} as never, areas: [area, searching] },
    { identify: async (token) => person(token === 'Bearer scoped' ? ['other'] : '*'), onRefused: async () => undefined, logger: silent },
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  const close = async (): Promise<void> => {
    await app.close();
    await db.close();
  };
  return { db, url: await app.getUrl(), close };
}

const cold = new Map<string, number[]>(Object.keys(requests).map((name) => [name, []]));
const warm = new Map<string, number[]>(Object.keys(requests).map((name) => [name, []]));
let stored = letters;
for (let round = 0; round < rounds; round += 1) {
  for (const [name, request] of Object.entries(requests)) {
    const desk = await openDesk();
    cold.get(name)?.push(await ask(desk.url, request));
    for (let n = 0; n < perRound; n += 1) warm.get(name)?.push(await ask(desk.url, request));
    await storeMany(desk.db, 20, stored + 1);
    stored += 20;
    await desk.close();
  }
}
await leads.close();
await open.close();
const atOnce = await openOperatorDatabase(database.url);
const batches = await benchLargeBatch(atOnce);
await atOnce.close();
await database.drop();

async function ask(url: string, { path, scoped = false, body }: Asked): Promise<number> {
  const begun = performance.now();
  const answer = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${scoped ? 'scoped' : 'all'}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  const text = await answer.text();
  const took = performance.now() - begun;
  // What finds nothing is fast for another reason.
  if (body !== undefined && path === '/v1/search' && body !== nowhere && !text.includes('"event_id"'))
    throw new Error(`${JSON.stringify(body)} found nothing`);
  if (path.includes('tab=held') && !text.includes('"held"')) throw new Error(`${path} shows nothing that is held`);
  return took;
}

const quantile = (samples: readonly number[], share: number): number =>
  samples.toSorted((one, other) => one - other)[Math.min(samples.length - 1, Math.ceil(share * samples.length) - 1)] ?? Number.NaN;

const bench = letters.toLocaleString('en');
const goal = `< ${goalMs}`;
const results = Object.keys(requests).map((name): BenchResult => {
  const [first, again] = [cold.get(name) ?? [], warm.get(name) ?? []];
  const note = `first request of a service that was just opened: ${Math.round(Math.max(...first))} ms at worst of ${rounds}`;
  const what = `${bench} ${name.startsWith('search') ? 'leads' : 'dead letters'}: ${name}, p95`;
  return { what, unit: 'ms', ours: quantile([...first, ...again], 0.95), goal, note };
});

/** Of first requests alone; what is slowest among them by its own p95. */
const coldRow = (kind: string, all: readonly (readonly [string, number[]])[]): BenchResult => {
  const [slowest] = all.map(([name, first]) => ({ name, p95: quantile(first, 0.95) })).toSorted((one, other) => other.p95 - one.p95);
  const samples = all.flatMap(([, first]) => first);
  const note = `${samples.length} services just opened; slowest ${slowest?.name}, p95 ${Math.round(slowest?.p95 ?? 0)} ms`;
  return { what: `${bench}: first request for a ${kind}, p95`, unit: 'ms', ours: quantile(samples, 0.95), goal, note };
};
const kinds = { list: /^list/, group: /groups/, search: /^search/ };
const colds = Object.entries(kinds).map(([kind, named]) =>
  coldRow(
    kind,
    [...cold].filter(([name]) => named.test(name)),
  ),
);
writeReport({ bench: 'operator', results: [...results, ...colds, ...batches] });
