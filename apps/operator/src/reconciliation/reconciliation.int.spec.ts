import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type TestDatabase, testDatabase } from '#testkit';
import { openReconciliationRig, type ReconciliationRig } from '../../test/reconciliation-rig.js';
import { personOf } from '../../test/replay-rig.js';
import { keepFigures, readFigures, reconciliationFigures } from './keep-figures.js';

jest.setTimeout(60_000);

let database: TestDatabase;
let rig: ReconciliationRig;
beforeAll(async () => {
  database = await testDatabase('operator_reconciliation');
  rig = await openReconciliationRig(database.url);
});
afterAll(async () => {
  await rig?.close();
  await database?.drop();
});
beforeEach(async () => {
  rig.reconciler.clear();
  await rig.db.sql('spec.clear_audit', 'TRUNCATE audit', []).catch(() => undefined);
});

const idsOf = ({ body }: { body: Record<string, unknown> }): string[] =>
  (body.items as { discrepancy_id: string }[]).map(({ discrepancy_id }) => discrepancy_id);
const problemOf = (type: string) => ({ type: `urn:lead-delivery:problem:${type}` });

describe('discrepancies', () => {
  it('are listed with the page that says what to do, by what is asked for', async () => {
    const { discrepancy_id } = rig.reconciler.found();
    rig.reconciler.found({ class: 'duplicate', repair: undefined });
    const answer = await rig.ask('viewer', 'discrepancies?class=missing');
    expect(answer).toMatchObject({
      status: 200,
      body: { items: [{ discrepancy_id, class: 'missing', repair: 'create', runbook: 'docs/runbooks/discrepancy-missing.md' }] },
    });
    expect((await rig.ask('viewer', 'discrepancies?class=nonsense')).status).toBe(422);
    expect((await rig.ask('viewer', 'discrepancies?everything=1')).status).toBe(422);
  });

  it('of other organizations are there for nobody who may not see them, nor are those of none', async () => {
    const [own, other, none] = [
      rig.reconciler.found(),
      rig.reconciler.found({ organization: 'other' }),
      rig.reconciler.found({ organization: undefined }),
    ];
    expect(idsOf(await rig.ask('viewer@demo', 'discrepancies'))).toEqual([own.discrepancy_id]);
    expect(idsOf(await rig.ask('viewer', 'discrepancies'))).toHaveLength(3);
    for (const { discrepancy_id } of [other, none]) {
      expect((await rig.ask('approver@demo', `discrepancies/${discrepancy_id}/accept`, { reason: 'fine' })).status).toBe(404);
    }
    const { text } = await rig.ask('viewer@demo', 'discrepancies.csv');
    expect(text.trimEnd().split('\r\n')).toHaveLength(2);
  });

  it('come page by page, and page over what may not be seen', async () => {
    for (let made = 0; made < 3; made += 1) rig.reconciler.found({ organization: undefined });
    const own = rig.reconciler.found();
    const answer = await rig.ask('viewer@demo', 'discrepancies?limit=1');
    expect(idsOf(answer)).toEqual([own.discrepancy_id]);
    expect(answer.body.next).toBeUndefined();
    const first = await rig.ask('viewer', 'discrepancies?limit=3');
    expect(idsOf(await rig.ask('viewer', `discrepancies?limit=3&after=${String(first.body.next)}`))).toEqual([own.discrepancy_id]);
  });

  it('are exported with nothing that a spreadsheet would run', async () => {
    rig.reconciler.found({ ref: '=HYPERLINK("x")', next_step: 'Look, then decide' });
    const { text } = await rig.ask('viewer', 'discrepancies.csv');
    const [heading, line] = text.split('\r\n');
    expect(heading).toMatch(/^discrepancy_id,class,/);
    expect(line).toContain(`"'=HYPERLINK(""x"")"`);
    expect(line).toContain('"Look, then decide"');
  });

  it('are a clear 503 while the reconciler does not answer', async () => {
    const { discrepancy_id } = rig.reconciler.found();
    rig.reconciler.down = true;
    for (const path of ['discrepancies', 'discrepancies.csv', 'runs', 'balances', 'balances.csv']) {
      expect(await rig.ask('viewer', path)).toMatchObject({
        status: 503,
        body: { ...problemOf('unavailable'), detail: expect.stringContaining('reconciler') },
      });
    }
    expect((await rig.ask('approver', `discrepancies/${discrepancy_id}/accept`, { reason: 'fine' })).status).toBe(503);
    expect(rig.reconciler.settled).toEqual([]);
  });
});

describe('accepting what stands at the destination', () => {
  it('is told to the reconciler, and stands in the audit with its reason', async () => {
    const { discrepancy_id, event_id } = rig.reconciler.found({ class: 'content_conflict', aspect: 'human_change' });
    const answer = await rig.ask('approver', `discrepancies/${discrepancy_id}/accept`, { reason: 'sales corrected the number' });
    expect(answer).toMatchObject({ status: 200, body: { discrepancy_id, state: 'accepted' } });
    expect(rig.reconciler.settled).toEqual([{ discrepancy_id, state: 'accepted', by: 'approver', reason: 'sales corrected the number' }]);
    expect((await rig.audited()).filter(({ subject }) => subject.discrepancy_id === discrepancy_id)).toMatchObject([
      {
        person: 'approver',
        action: 'discrepancy.accept',
        organization: 'demo',
        subject: { event_id, reason: 'sales corrected the number' },
      },
      { action: 'discrepancy.accept.answer', subject: { settled: true, state: 'accepted' } },
    ]);
  });

  it('is for those who approve, with a reason without personal data', async () => {
    const { discrepancy_id } = rig.reconciler.found();
    const path = `discrepancies/${discrepancy_id}/accept`;
    expect((await rig.ask('operator', path, { reason: 'fine' })).status).toBe(403);
    expect((await rig.ask('approver', path, {})).status).toBe(422);
    expect((await rig.ask('approver', path, { reason: 'ring +1 202 555 0123' })).status).toBe(422);
    expect((await rig.ask('approver', `discrepancies/${randomUUID()}/accept`, { reason: 'fine' })).status).toBe(404);
  });

  it('is refused for what is settled', async () => {
    const { discrepancy_id } = rig.reconciler.found({ state: 'gone' });
    expect(await rig.ask('approver', `discrepancies/${discrepancy_id}/accept`, { reason: 'fine' })).toMatchObject({
      status: 409,
      body: { ...problemOf('discrepancy-settled'), state: 'gone' },
    });
  });
});

describe('runs', () => {
  const window = { destination: 'crm', from: '2026-01-01T02:00:00+02:00', to: '2026-01-02T00:00:00Z' };

  it('are asked for by whoever may ask for replays, and audited with what came of it', async () => {
    expect((await rig.ask('viewer', 'runs', window)).status).toBe(403);
    const answer = await rig.ask('operator@demo', 'runs', { ...window, form: 'contact', reason: 'after the outage' });
    expect(answer.status).toBe(202);
    const run_id = answer.body.run_id as string;
    expect(rig.reconciler.runs).toMatchObject([{ run_id, by: 'operator', from: '2026-01-01T00:00:00.000Z', filter: { form: 'contact' } }]);
    expect((await rig.audited()).slice(-2)).toMatchObject([
      {
        action: 'reconciliation.run',
        person: 'operator',
        organization: 'demo',
        subject: { destination: 'crm', reason: 'after the outage' },
      },
      { action: 'reconciliation.run.answer', subject: { run_id } },
    ]);
    expect(await rig.ask('operator@demo', `runs/${run_id}/stop`, { reason: 'too much at noon' })).toMatchObject({
      status: 200,
      body: { stopped: true },
    });
    expect(await rig.ask('operator@demo', `runs/${run_id}/stop`, { reason: 'again' })).toMatchObject({
      status: 409,
      body: problemOf('run-ended'),
    });
  });

  it.each<[string, number, Record<string, unknown>]>([
    ['a destination that there is not', 404, { destination: 'nowhere' }],
    ['a destination of others', 404, { destination: 'others-crm' }],
    ['a destination that others use as well', 403, { destination: 'shared' }],
    ['an empty window', 409, { from: '2026-01-03T00:00:00Z' }],
    ['no time', 422, { from: 'yesterday' }],
  ])('are refused for %s', async (_, status, changes) => {
    expect((await rig.ask('operator@demo', 'runs', { ...window, ...changes })).status).toBe(status);
    expect(rig.reconciler.runs).toEqual([]);
  });

  it('say why a destination cannot be compared', async () => {
    expect(await rig.ask('operator', 'runs', { ...window, destination: 'others-crm' })).toMatchObject({
      status: 409,
      body: problemOf('not-comparable'),
    });
  });

  it('are shown over own destinations alone, and without counts where others use them too', async () => {
    const [own, shared] = [rig.reconciler.ran(), rig.reconciler.ran({ destination: 'shared' })];
    rig.reconciler.ran({ destination: 'others-crm' });
    const { body } = await rig.ask('viewer@demo', 'runs');
    expect(body.items).toMatchObject([
      { run_id: shared.run_id, counts: null },
      { run_id: own.run_id, counts: { compared: 10, missing: 1 } },
    ]);
    expect((await rig.ask('viewer', 'runs?limit=2')).body.items).toHaveLength(2);
  });
});

describe('the figures of the overview', () => {
  const all = personOf('boss');
  const keep = () => keepFigures({ db: rig.db, site: { destinations: { crm: {} } } as never, reconciler: rig.api });

  it('count what is open by class and destination, of own leads, and name the last run of each', async () => {
    expect(await readFigures(rig.db, all)).toBeNull();
    for (const state of ['open', 'repair_failed', 'repaired', 'accepted'] as const) rig.reconciler.found({ state });
    rig.reconciler.found({ organization: 'other', urgency: 'low' });
    rig.reconciler.found({ class: 'duplicate', organization: undefined, urgency: 'normal' });
    const { run_id } = rig.reconciler.ran();
    await keep();
    expect(reconciliationFigures.parse(await readFigures(rig.db, all))).toMatchObject({
      open: [
        { destination: 'crm', class: 'missing', count: 3, high: 2 },
        { destination: 'crm', class: 'duplicate', count: 1, high: 0 },
      ],
      more: false,
      last_runs: [{ destination: 'crm', run_id, compared: 10 }],
    });
    expect(await readFigures(rig.db, personOf('demo', { organizations: ['demo'] }))).toMatchObject({
      open: [{ class: 'missing', count: 2, high: 2 }],
      last_runs: [],
    });
  });

  it('stay as they were while the reconciler does not answer', async () => {
    const before = await readFigures(rig.db, all);
    rig.reconciler.down = true;
    await rig.db.sql('spec.age', "UPDATE reconciliation_figures SET began_at = began_at - interval '1 hour'", []);
    await expect(keep()).rejects.toMatchObject({ problem: { status: 503 } });
    expect(await readFigures(rig.db, all)).toEqual(before);
  });
});

describe('balances', () => {
  const balance = {
    day: '2026-01-01',
    organization: 'demo',
    source: 'website',
    destination: 'crm',
    accepted: 5,
    found: { delivered: 4 },
    missing: 1,
    incomplete: 0,
    balanced: false,
    closed: false,
    taken_at: '2026-01-02T00:00:00.000Z',
  };

  it('are those of own sources, as JSON and as CSV', async () => {
    rig.reconciler.balances = [balance, { ...balance, organization: 'other', found: { dead: 5 } }];
    const { body } = await rig.ask('viewer@demo', 'balances?from=2026-01-01&to=2026-01-01');
    expect(body).toEqual({ items: [balance], received: [] });
    const { text } = await rig.ask('viewer', 'balances.csv?from=2026-01-01&to=2026-01-01');
    expect(text.split('\r\n')).toEqual([
      'day,organization,source,destination,accepted,missing,incomplete,balanced,closed,taken_at,dead,delivered',
      '2026-01-01,demo,website,crm,5,1,0,false,false,2026-01-02T00:00:00.000Z,0,4',
      '2026-01-01,other,website,crm,5,1,0,false,false,2026-01-02T00:00:00.000Z,5,0',
      '',
    ]);
    expect((await rig.ask('viewer', 'balances')).body.items).toEqual([]);
    expect((await rig.ask('viewer', 'balances?from=2020-01-01&to=2026-01-01')).status).toBe(422);
  });
});
