import type {
  ListBalancesAnswer,
  ListBalancesRequest,
  ListDiscrepanciesAnswer,
  ListDiscrepanciesRequest,
  ListRunsAnswer,
  ListRunsRequest,
  SettleAnswer,
  SettleRequest,
  StartRunAnswer,
  StartRunRequest,
  StopRunAnswer,
  StopRunRequest,
} from '#delivery';
import { type InternalClient, InternalRefused, InternalUnavailable } from '#runtime';
import { reconciliationRefusals } from './refusals.js';

/** The service that compares with destinations. Every method rejects with the refusal 503 while it does not answer. */
export interface ReconcilerApi {
  startRun(request: StartRunRequest): Promise<StartRunAnswer>;
  runs(request: ListRunsRequest): Promise<ListRunsAnswer>;
  stopRun(request: StopRunRequest): Promise<StopRunAnswer>;
  discrepancies(request: ListDiscrepanciesRequest): Promise<ListDiscrepanciesAnswer>;
  settle(items: SettleRequest['items']): Promise<SettleAnswer>;
  balances(request: ListBalancesRequest): Promise<ListBalancesAnswer>;
}

/** Most ids of one request, by its contract. */
export const reconcilerPage = 500;

/** Behind its internal API; `client` undefined where INTERNAL_URLS does not name it: then it never answers. */
export function reconcilerApi(client: Pick<InternalClient, 'post'> | undefined): ReconcilerApi {
  const post = async <T>(path: string, body: object): Promise<T> => {
    if (client === undefined) throw reconciliationRefusals.away('INTERNAL_URLS does not name reconciler');
    return client.post<T>(`/internal/v1/${path}`, body).catch((error: unknown) => {
      throw refusalOf(error);
    });
  };
  return {
    startRun: (request) => post('reconcile/runs:start', request),
    runs: (request) => post('reconcile/runs:list', request),
    stopRun: (request) => post('reconcile/runs:stop', request),
    discrepancies: (request) => post('reconcile/discrepancies:list', request),
    settle: (items) => post('reconcile/discrepancies:settle', { items }),
    balances: (request) => post('reconcile/balances:list', request),
  };
}

/** A page that it does not know is the only thing of a request that we cannot judge before it does. */
function refusalOf(error: unknown): unknown {
  if (error instanceof InternalUnavailable) return reconciliationRefusals.away();
  return error instanceof InternalRefused && error.status === 422 ? reconciliationRefusals.refused() : error;
}
