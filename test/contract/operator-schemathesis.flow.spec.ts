import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Endpoints, type Stack, startStack, testSize } from '#testkit';
import { eventually } from '../support/eventually.js';
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
const events: string[] = [];

beforeAll(async () => {
  [stack, program] = await Promise.all([startStack(), installSchemathesis()]);
  const endpoints = stack.endpoints();
  const intake = new IntakeClient(endpoints);
  for (let n = 0; n < deadLeads; n += 1) {
    const { status, body } = await intake.post({ ...leadBody(`walk-${n}`, n), form: 'contact', custom: { account_owner: 'me' } });
    expect(status).toBe(202);
    events.push(String(body.event_id));
  }
  await eventually(async () => {
    const response = await fetch(`${endpoints.operator}/v1/dead-letters?class=protected_field&limit=200`, {
      headers: { authorization: `Bearer ${endpoints.operatorTokens.viewer}` },
    });
    const { items } = (await response.json()) as { items: { event_id: string }[] };
    expect(items.map(({ event_id }) => event_id)).toEqual(expect.arrayContaining(events));
  }, 60_000);
  walked = await walkOperator(endpoints, events, await inDoubt(endpoints, intake));
}, 600_000);

afterAll(async () => {
  await stack?.stop();
}, 60_000);

/** A lead at a destination that takes it and never says so. */
async function inDoubt({ sandboxCrm }: Endpoints, intake: IntakeClient): Promise<Doubtful> {
  const destination = 'tour-crm';
  const crm = new CrmWitness(`${sandboxCrm}-tour`);
  await crm.rule({ name: 'in-doubt', operation: 'lead', hang: true });
  await crm.rule({ name: 'in-doubt', operation: 'lookup', status: 503 });
  const { status, body } = await intake.post({ ...leadBody('walk-in-doubt', deadLeads), form: destination });
  expect(status).toBe(202);
  return { event_id: String(body.event_id), destination, heal: () => crm.heal('in-doubt') };
}

describe('the operator surface', () => {
  it('answers 2xx to whoever may, for at least nine of ten operations', async () => {
    const { paths } = (await (await fetch(`${stack.endpoints().operator}/openapi.json`)).json()) as { paths: Record<string, object> };
    const all = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`));
    const missed = all.filter((name) => !(Number(walked.get(name)) < 300)).map((name) => `${name}: ${walked.get(name) ?? 'not called'}`);
    expect([...walked].filter(([name]) => /lookup|evidence/.test(name)).map(([, answered]) => answered)).toEqual([200, 200]);
    const enough = missed.length <= all.length * 0.1;
    expect(enough ? [] : missed).toEqual([]);
  });

  it.each(roles)(
    'never fails, and gives a %s nothing beyond the role, whatever is sent',
    async (role) => {
      const { operator: url, operatorTokens } = stack.endpoints();
      const result = await attack({ program, url, token: String(operatorTokens[role]), role, seconds: secondsPerRole, seed });
      expect(result.ok ? 'all checks held' : result.printed.slice(-6_000)).toBe('all checks held');
    },
    300_000,
  );
});
