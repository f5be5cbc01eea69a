import {
  deadEndsRequest,
  listBalancesRequest,
  listDiscrepanciesRequest,
  listRunsRequest,
  settleRequest,
  startRunRequest,
  stopRunRequest,
} from '#delivery';
import type { InternalServer } from '#runtime';
import { listBalances } from '../balance/store-balance.js';
import { listDiscrepancies } from '../discrepancies/list-discrepancies.js';
import { settleDiscrepancies } from '../discrepancies/settle-discrepancies.js';
import { listRuns } from '../runs/list-runs.js';
import { startRun, stopRun } from '../runs/start-run.js';
import type { RunTools } from '../runs/tools.js';

const callers = ['operator'];
const prefix = '/internal/v1/reconcile';

/** Runs, discrepancies and balances, for the operator. @param wake told when a run was asked for */
export function serveReconciliation(server: InternalServer, { db, site, wake }: Pick<RunTools, 'db' | 'site'> & { wake(): void }): void {
  server.route(`${prefix}/runs:start`, { callers, body: startRunRequest }, async (body) => {
    const answer = await startRun({ db, site }, body);
    wake();
    return answer;
  });
  server.route(`${prefix}/runs:list`, { callers, body: listRunsRequest }, (body) => listRuns(db, body));
  server.route(`${prefix}/runs:stop`, { callers, body: stopRunRequest }, (body) => stopRun(db, body));
  server.route(`${prefix}/discrepancies:list`, { callers, body: listDiscrepanciesRequest }, (body) => listDiscrepancies(db, body));
  server.route(`${prefix}/discrepancies:settle`, { callers, body: settleRequest }, (body) => settleDiscrepancies(db, body));
  server.route(`${prefix}/balances:list`, { callers, body: listBalancesRequest }, (body) => listBalances(db, body));
  server.route(`${prefix}/dead-ends:list`, { callers, body: deadEndsRequest }, (body) =>
    listDiscrepancies(db, { ...body, class: 'dead_end', state: 'open' }),
  );
}
