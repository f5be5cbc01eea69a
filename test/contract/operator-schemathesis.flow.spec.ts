import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Endpoints, type Stack, startStack, testSize } from '#testkit';
import { scanEnded, scanStack } from '../privacy/scan-stack.js';
import { soon } from '../support/common-stack.js';
import { Comparisons } from '../support/comparisons.js';
import { Desk } from '../support/desk.js';
import { eventually } from '../support/eventually.js';
import { OperatorClient } from '../support/operator.js';
import { closeMs } from '../support/stack.js';
import { IntakeClient, leadBody } from '../support/traffic.js';
import { CrmWitness } from '../tour/crm-witness.js';
import { type Doubtful, deadLeads, type Walked, walkOperator } from './operator-walk.js';
import { attack, installSchemathesis } from './schemathesis.js';

/** The whole OpenAPI of the operator service, attacked as each role and walked through by those who may, on leads that need somebody. */
const roles = ['viewer', 'operator', 'approver', 'admin'] as const;
const secondsPerRole = testSize() === 'long' ? 60 : 15;
const seed = Number(process.env.LD_TEST_SEED ?? 1);

let stack: Stack;
let program: string;
let walked: Walked;
let paths: OpenApiPaths;
const events: string[] = [];

type OpenApiPaths = Record<string, Record<string, { 'x-roles': string[] }>>;

beforeAll(async () => {
  const begun = new Date();
  [stack, program] = await Promise.all([startStack({ env: soon }), installSchemathesis()]);
  const endpoints = stack.endpoints();
  const intake = new IntakeClient(endpoints);
  for (let n = 0; n < deadLeads; n += 1) events.push(await submit(intake, `walk-${n}`, { n, custom: { account_owner: 'me' } }));
  const lost = await lostAt(endpoints, begun, [
    await submit(intake, 'walk-lost-1', { n: 0 }),
    await submit(intake, 'walk-lost-2', { n: 1 }),
  ]);
  await eventually(async () => {
    const response = await fetch(`${endpoints.operator}/v1/dead-letters?class=protected_field&limit=200`, {
      headers: { authorization: `Bearer ${endpoints.operatorTokens.viewer}` },
    });
    const { items } = (await response.json()) as { items: { event_id: string }[] };
    expect(items.map(({ event_id }) => event_id)).toEqual(expect.arrayContaining(events));
  }, 60_000);
  paths = ((await (await fetch(`${endpoints.operator}/openapi.json`)).json()) as { paths: OpenApiPaths }).paths;
  walked = await walkOperator(endpoints, { dead: events, doubtful: await inDoubt(endpoints, intake), lost });
}, 600_000);

afterAll(async () => {
  await stack?.stop(() => scanEnded(stack));
}, closeMs);

async function submit(intake: IntakeClient, name: string, { n, ...more }: { n: number; form?: string; custom?: object }): Promise<string> {
  const { status, body } = await intake.post({ ...leadBody(name, n), ...more });
  expect(status).toBe(202);
  return String(body.event_id);
}

/** What a comparison finds of leads that the demo's CRM had and has no more. */
async function lostAt(endpoints: Endpoints, begun: Date, eventIds: readonly string[]): Promise<string[]> {
  const desk = new Desk(endpoints);
  for (const eventId of eventIds) await desk.remove((await eventually(() => desk.leadOf(eventId), 60_000)).id);
  const comparisons = new Comparisons(new OperatorClient(endpoints), begun);
  return eventually(async () => {
    await comparisons.run('sandbox-crm');
    const found = await comparisons.found('sandbox-crm');
    expect(found.map(({ event_id }) => event_id).sort()).toEqual([...eventIds].sort());
    return found.map(({ discrepancy_id }) => discrepancy_id);
  }, 60_000);
}

/** A lead at a destination that takes it and never says so. */
async function inDoubt({ sandboxCrm }: Endpoints, intake: IntakeClient): Promise<Doubtful> {
  const destination = 'tour-crm';
  const crm = new CrmWitness(`${sandboxCrm}-tour`);
  await crm.rule({ name: 'in-doubt', operation: 'lead', hang: true });
  await crm.rule({ name: 'in-doubt', operation: 'lookup', status: 503 });
  const event_id = await submit(intake, 'walk-in-doubt', { n: deadLeads, form: destination });
  return { event_id, destination, heal: () => crm.heal('in-doubt') };
}

/** `METHOD /path/{parameter}` of every operation, with the roles that may. */
const operations = (): [string, string[]][] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { 'x-roles': may }]): [string, string[]] => [`${method.toUpperCase()} ${path}`, may]),
  );
const named = (all: [string, string[]][]): string[] => all.map(([name]) => name).sort();
/** One never ends; the other is the document itself, which the program has read and does not attack. */
const leftOut = ['GET /v1/live', 'GET /openapi.json'];
/** Nothing of these tells whether there is anything under the id, or who may. */
const nowhere = [400, 401, 403, 404, 405, 413, 415, 422];

describe('the operator surface', () => {
  it('is used by a person of their own for each role', async () => {
    const operator = new OperatorClient(stack.endpoints());
    const people = await Promise.all(
      roles.map(async (role) => (await operator.ask<{ subject: string; roles: string[] }>(role, 'me')).body),
    );
    expect(people.map((person) => person.roles)).toEqual(roles.map((role) => [role]));
    expect(new Set(people.map(({ subject }) => subject)).size).toBe(roles.length);
  });

  it('answers 2xx to whoever may, for at least nine of ten operations', () => {
    const { statuses } = walked;
    const all = named(operations());
    const missed = all
      .filter((name) => !(Number(statuses.get(name)) < 300))
      .map((name) => `${name}: ${statuses.get(name) ?? 'not called'}`);
    expect([...statuses].filter(([name]) => /lookup|evidence/.test(name)).map(([, answered]) => answered)).toEqual([200, 200]);
    const enough = missed.length <= all.length * 0.1;
    expect(enough ? [] : missed).toEqual([]);
  });

  it.each(roles)(
    'never fails, and gives a %s nothing beyond the role, whatever is sent',
    async (role) => {
      const { operator: url, operatorTokens } = stack.endpoints();
      const { seeded } = walked;
      const token = String(operatorTokens[role]);
      const { ok, printed, answers } = await attack({ program, url, token, role, seconds: secondsPerRole, seed, seeded });
      const all = operations().filter(([name]) => !leftOut.includes(name));
      expect(ok ? 'all checks held' : printed.slice(-6_000)).toBe('all checks held');
      // It was tried, and its door was found shut or open: not only that there is nothing under an id.
      expect(named(all.filter(([name]) => !answers.has(name)))).toEqual([]);
      const [may, mayNot] = [all.filter(([, who]) => who.includes(role)), all.filter(([, who]) => !who.includes(role))];
      expect(named(mayNot.filter(([name]) => !answers.get(name)?.has(403)))).toEqual([]);
      const unreached = may.filter(([name]) => [...(answers.get(name) ?? [])].every((status) => nowhere.includes(status)));
      expect(unreached.length <= may.length * 0.1 ? [] : named(unreached)).toEqual([]);
      // Whoever may only look needs nobody's decision first: what is there was given out.
      const looks = may.filter(([, who]) => who.length === roles.length);
      const fruitless = looks.filter(([name]) => ![...(answers.get(name) ?? [])].some((status) => status < 300));
      expect(fruitless.length <= looks.length * 0.1 ? [] : named(fruitless)).toEqual([]);
    },
    300_000,
  );
});

it('leaves no personal data outside the vault, the topic leads and the destinations', async () => {
  await scanStack(stack);
}, 120_000);
