import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Balances, Discrepancy, Overview, ReconciliationRun } from '../../../apps/console/src/api/types.js';

const minute = 60_000;
const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();

const found = (index: number, more: Partial<Discrepancy>): Discrepancy => ({
  discrepancy_id: `019a2b3c-4444-7000-8000-${String(index).padStart(12, '0')}`,
  destination: 'sandbox-crm',
  organization: 'demo',
  event_id: `019a2b3c-2222-7000-8000-${String(index).padStart(12, '0')}`,
  lead_ref: 'L-1',
  kind: 'lead',
  class: 'missing',
  fields: [],
  evidence: { looked_twice: true, search_lag_ms: 1_000 },
  urgency: 'high',
  owner: 'crm_admin',
  next_step: 'Repair it: the lead is made anew under its old key.',
  repair: 'create',
  state: 'open',
  first_run_id: randomUUID(),
  last_run_id: randomUUID(),
  first_seen_at: ago(90 * minute),
  last_seen_at: ago(30 * minute),
  runbook: 'docs/runbooks/discrepancy-missing.md',
  ...more,
});

/** What the fake knows of reconciliation. `gone`: reconciler does not answer. */
export class FakeReconciliation {
  gone = false;
  runs: ReconciliationRun[] = [
    {
      run_id: '019a2b3c-5555-7000-8000-000000000001',
      destination: 'sandbox-crm',
      from: ago(1_440 * minute),
      to: ago(60 * minute),
      filter: { form: 'contact' },
      state: 'finished',
      by: 'schedule',
      counts: { compared: 1_422, unconfirmed: 2, missing: 2, content_conflict: 1 },
      calls: 9,
      created_at: ago(31 * minute),
      started_at: ago(31 * minute),
      finished_at: ago(30 * minute),
      resumed: 1,
    },
  ];
  discrepancies: Discrepancy[] = [
    found(1, {}),
    found(2, {}),
    found(3, {
      class: 'content_conflict',
      aspect: 'human_change',
      fields: ['phone'],
      urgency: 'normal',
      repair: undefined,
      next_step: 'Ask who changed it there, and correct the lead here if they are right.',
      runbook: 'docs/runbooks/discrepancy-content-conflict.md',
    }),
  ];
  balances: Balances = {
    items: [
      {
        day: '2026-11-29',
        organization: 'demo',
        source: 'website',
        destination: 'sandbox-crm',
        accepted: 1_480,
        found: { delivered: 1_470, dead: 9 },
        missing: 1,
        incomplete: 0,
        balanced: false,
        closed: false,
        taken_at: ago(minute),
      },
      {
        day: '2026-11-28',
        organization: 'demo',
        source: 'website',
        destination: 'sandbox-crm',
        accepted: 900,
        found: { delivered: 900 },
        missing: 0,
        incomplete: 0,
        balanced: true,
        closed: true,
        taken_at: ago(minute),
      },
    ],
    received: [
      {
        day: '2026-11-29',
        organization: 'demo',
        source: 'website',
        received: 1_500,
        accepted: 1_480,
        repeats: 15,
        conflicts: 1,
        rejected: 4,
        balanced: true,
        taken_at: ago(minute),
      },
    ],
  };

  figures(): NonNullable<Overview['reconciliation']> {
    const run_id = '019a2b3c-5555-7000-8000-000000000001';
    const run = { destination: 'sandbox-crm', run_id, from: ago(1_440 * minute), to: ago(60 * minute), compared: 1_422 };
    return {
      as_of: ago(minute),
      open: [
        { destination: 'sandbox-crm', class: 'missing', count: 2, high: 2 },
        { destination: 'sandbox-crm', class: 'content_conflict', count: 1, high: 0 },
      ],
      more: false,
      last_runs: [{ ...run, state: 'finished', finished_at: ago(30 * minute) }],
    };
  }

  start(by: string, body: Record<string, unknown>): string {
    const run_id = randomUUID();
    this.runs.unshift({
      run_id,
      destination: String(body.destination),
      from: String(body.from),
      to: ago(0),
      filter: {},
      state: 'running',
      by,
      counts: { compared: 200, unconfirmed: 0 },
      calls: 1,
      created_at: ago(0),
      started_at: ago(0),
      resumed: 0,
    });
    return run_id;
  }
}

export interface ReconciliationDoors {
  state: FakeReconciliation;
  /** Who asks. */
  who: (request: { headers: { authorization?: string } }) => string;
  note: (who: string, action: string, subject: Record<string, unknown>) => void;
  /** Drafts a batch and gives its id. */
  draft: (who: string, selection: Record<string, unknown>) => string;
}

type Asked = { Params: { id: string }; Querystring: Record<string, string>; Body: Record<string, unknown> };

export function reconciliationDoors(app: FastifyInstance, { state, who, note, draft }: ReconciliationDoors): void {
  app.addHook('preHandler', async (request, reply) => {
    if (!state.gone || !request.url.startsWith('/v1/reconciliation/')) return;
    return reply.code(503).send({ title: 'A part that is needed does not answer; try again', detail: 'reconciler does not answer' });
  });
  app.get<Asked>('/v1/reconciliation/runs', ({ query }) => ({
    items: state.runs.filter((run) => !query.state || run.state === query.state),
  }));
  app.post<Asked>('/v1/reconciliation/runs', (request) => {
    note(who(request), 'reconciliation.run', request.body);
    return { run_id: state.start(who(request), request.body) };
  });
  app.post<Asked>('/v1/reconciliation/runs/:id/stop', ({ params }) => {
    for (const run of state.runs) if (run.run_id === params.id) run.state = 'stopped';
    return { run_id: params.id, stopped: true };
  });
  app.get<Asked>('/v1/reconciliation/discrepancies', ({ query }) => ({
    items: state.discrepancies.filter(
      (one) =>
        (!query.state || one.state === query.state) &&
        (!query.class || one.class === query.class) &&
        (!query.event_id || one.event_id === query.event_id),
    ),
  }));
  app.get('/v1/reconciliation/discrepancies.csv', (_request, reply) => reply.type('text/csv').send('discrepancy_id\n'));
  app.post<Asked>('/v1/reconciliation/discrepancies/:id/accept', (request) => {
    const { id } = request.params;
    for (const one of state.discrepancies) if (one.discrepancy_id === id) Object.assign(one, { state: 'accepted', by: who(request) });
    note(who(request), 'discrepancy.accept', { discrepancy_id: id, ...request.body });
    return { discrepancy_id: id, state: 'accepted' };
  });
  app.post<Asked>('/v1/reconciliation/repairs', (request) => {
    const ids = request.body.ids as string[];
    const batch_id = draft(who(request), { discrepancies: { ids: ids.length } });
    for (const one of state.discrepancies) if (ids.includes(one.discrepancy_id)) Object.assign(one, { state: 'repairing', batch_id });
    const left_out = { no_repair: 0, settled: 0, unknown: 0 };
    return { batch_id, state: 'draft', hash: 'a'.repeat(64), items: ids.length, discrepancies: ids.length, left_out };
  });
  app.get('/v1/reconciliation/balances', () => state.balances);
  app.get('/v1/reconciliation/balances.csv', (_request, reply) => reply.type('text/csv').send('day\n'));
}
