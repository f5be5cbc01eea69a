import { randomUUID } from 'node:crypto';
import {
  type BalanceDay,
  type Discrepancy,
  listBalancesRequest,
  listDiscrepanciesRequest,
  listRunsRequest,
  type ReceivedDay,
  type ReconcileRun,
  type SettleRequest,
  settleRequest,
  startRunRequest,
  stopRunRequest,
} from '#delivery';
import { type InternalServer, InternalUnavailable } from '#runtime';

const now = (): string => new Date().toISOString();

/** The reconciler's internal API over what a test says it found. */
export class PretendReconciler {
  down = false;
  readonly discrepancies = new Map<string, Discrepancy>();
  runs: ReconcileRun[] = [];
  balances: BalanceDay[] = [];
  received: ReceivedDay[] = [];
  readonly settled: SettleRequest['items'] = [];

  clear(): void {
    this.down = false;
    this.discrepancies.clear();
    this.runs = [];
    this.balances = [];
    this.received = [];
    this.settled.length = 0;
  }

  found(changes: Partial<Discrepancy> = {}): Discrepancy {
    const discrepancy: Discrepancy = {
      discrepancy_id: randomUUID(),
      destination: 'crm',
      organization: 'demo',
      event_id: randomUUID(),
      lead_ref: 'L-7',
      kind: 'lead',
      class: 'missing',
      fields: [],
      evidence: { looks: 2 },
      urgency: 'high',
      owner: 'integration',
      next_step: 'Have it repaired.',
      repair: 'create',
      state: 'open',
      first_run_id: randomUUID(),
      last_run_id: randomUUID(),
      first_seen_at: now(),
      last_seen_at: now(),
      ...changes,
    };
    this.discrepancies.set(discrepancy.discrepancy_id, discrepancy);
    return discrepancy;
  }

  ran(changes: Partial<ReconcileRun> = {}): ReconcileRun {
    const run: ReconcileRun = {
      run_id: randomUUID(),
      destination: 'crm',
      from: now(),
      to: now(),
      filter: {},
      state: 'finished',
      by: 'schedule',
      counts: { compared: 10, unconfirmed: 0, missing: 1 },
      calls: 3,
      created_at: now(),
      resumed: 0,
      ...changes,
    };
    this.runs.unshift(run);
    return run;
  }

  serve(server: InternalServer): void {
    const callers = ['operator'];
    const path = (name: string): string => `/internal/v1/reconcile/${name}`;
    server.route(path('runs:start'), { callers, body: startRunRequest }, async ({ from, to, destination, by, ...filter }) => {
      this.answer();
      if (destination === 'others-crm') return { refused: 'not_comparable' };
      if (from >= to) return { refused: 'empty_window' };
      return { run_id: this.ran({ destination, from, to, by, filter, state: 'waiting' }).run_id };
    });
    server.route(path('runs:list'), { callers, body: listRunsRequest }, async ({ destination, state, ids, limit }) => {
      this.answer();
      const fits = (run: ReconcileRun): boolean =>
        (destination ?? run.destination) === run.destination && (state ?? run.state) === run.state && (ids?.includes(run.run_id) ?? true);
      return { items: this.runs.filter(fits).slice(0, limit) };
    });
    server.route(path('runs:stop'), { callers, body: stopRunRequest }, async ({ run_id }) => {
      this.answer();
      const run = this.runs.find((one) => one.run_id === run_id);
      const stopped = run?.state === 'running' || run?.state === 'waiting';
      if (run !== undefined && stopped) run.state = 'stopped';
      return { stopped };
    });
    server.route(path('discrepancies:list'), { callers, body: listDiscrepanciesRequest }, async (asked) => this.list(asked));
    server.route(path('discrepancies:settle'), { callers, body: settleRequest }, async ({ items }) => this.settle(items));
    server.route(path('balances:list'), { callers, body: listBalancesRequest }, async ({ from, to }) => {
      this.answer();
      const within = ({ day }: { day: string }): boolean => day >= from && day <= to;
      return { items: this.balances.filter(within), received: this.received.filter(within) };
    });
  }

  private list({
    ids,
    event_ids,
    organizations,
    state,
    after,
    limit,
    class: kind,
    destination,
  }: ReturnType<typeof listDiscrepanciesRequest.parse>) {
    this.answer();
    const states = state === undefined ? undefined : [state].flat();
    const fits = (one: Discrepancy): boolean =>
      (ids?.includes(one.discrepancy_id) ?? true) &&
      (event_ids?.includes(one.event_id ?? '') ?? true) &&
      (states?.includes(one.state) ?? true) &&
      (kind ?? one.class) === one.class &&
      (destination ?? one.destination) === one.destination &&
      (organizations === undefined || one.organization === undefined || organizations.includes(one.organization));
    const all = [...this.discrepancies.values()].filter(fits);
    const from = Number(after ?? 0);
    const items = all.slice(from, from + limit);
    return { items, ...(from + limit < all.length && { next: String(from + limit) }) };
  }

  private settle(items: SettleRequest['items']) {
    this.answer();
    this.settled.push(...items);
    return {
      items: items.map(({ discrepancy_id, ...said }) => {
        const one = this.discrepancies.get(discrepancy_id);
        if (one === undefined) return null;
        const settled = one.state !== 'gone' && one.state !== 'accepted';
        if (settled) this.discrepancies.set(discrepancy_id, { ...one, ...said });
        return { discrepancy_id, settled, state: settled ? said.state : one.state };
      }),
    };
  }

  private answer(): void {
    if (this.down) throw new InternalUnavailable('down');
  }
}
