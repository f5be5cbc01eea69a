import { z } from 'zod';
import type { InternalServer } from '#runtime';
import type { Area, AreaTools } from '../area.js';
import { Refusal } from '../http/refusal.js';
import { permissions } from '../people/permissions.js';
import type { Person } from '../people/person.js';
import { reconcilerApi } from '../reconciliation/reconciler-api.js';
import { type Approval, approveRequest } from './approve-items.js';
import { BatchDesk } from './batch-desk.js';
import { batchStatesRequest, batchStatesRoute } from './batch-states.js';
import { BatchesController } from './batches.controller.js';
import { keepCounts } from './count-items.js';
import { expireBatches } from './expire-batches.js';
import { listItems, readReport } from './read-batches.js';
import { isRefused } from './refusals.js';
import { replayOwner, type Vault, vaultStates } from './replay-owner.js';
import { BatchRunner } from './runner/batch-runner.js';
import { keepDueHistories } from './runner/keep-histories.js';
import type { BatchTools } from './tools.js';

/** Replay batches at both doors, and the runner that sends them. */
export function batchArea(given: AreaTools): Area {
  const tools = batchTools(given);
  const runner = new BatchRunner(tools);
  const desk = new BatchDesk(tools, () => runner.wake());
  return {
    controllers: [BatchesController],
    providers: [{ provide: BatchDesk, useValue: desk }],
    serve: (server) => serveBatches(server, desk, tools),
    steps: {
      'late batches': () => expireBatches(tools.db),
      'counts of batches': () => keepCounts(tools.db),
      'histories of replayed letters': () => keepDueHistories(tools),
    },
    start: () => runner.start(),
    stop: () => runner.stop(),
  };
}

/** Owners that were given no client own nothing that can be replayed; intake has what never came to an owner. */
export function batchTools({ clients, owners, ...tools }: AreaTools): BatchTools {
  const owning = [...clients].filter(([name]) => name === 'intake' || owners.has(name));
  const intake = clients.get('intake');
  return {
    ...tools,
    owners,
    replays: new Map(owning.map(([name, client]) => [name, replayOwner(client)])),
    vault: intake === undefined ? unknownVault : vaultStates(intake),
    reconciler: reconcilerApi(clients.get('reconciler')),
  };
}

/** Without intake nobody can say what is kept; whoever sends an item reads the vault before, and refuses it then. */
const unknownVault: Vault = { payloads: () => Promise.resolve(new Map()) };

/** Somebody with the keys of the installation, under the name that they gave to the caller. */
const byName = (name: string, caller: string): Person => ({
  subject: name,
  name,
  roles: ['admin'],
  permissions,
  organizations: '*',
  caller,
});

const batchRequest = z.strictObject({ batch_id: z.uuid() });
const stopRequest = batchRequest.extend({ by: z.string().trim().min(1).max(100) });
const mostItemsShown = 500;

/** What services ask before each claim of a replayed record, and leadctl's door. */
function serveBatches(server: InternalServer, desk: BatchDesk, { db }: BatchTools): void {
  const people = { callers: ['leadctl'] };
  server.route(
    '/internal/v1/batches:state',
    { callers: ['intake', 'crm-writer', 'notifier', 'leadctl'], body: batchStatesRequest },
    batchStatesRoute(db),
  );
  server.route('/internal/v1/items:approve', { ...people, body: approveRequest }, (body, { caller }) =>
    desk.approveAlone(body, byName(body.approver, caller)).catch(refusedApproval),
  );
  server.route('/internal/v1/batches:show', { ...people, body: batchRequest }, async ({ batch_id: batchId }, { caller }) => {
    const person = byName(caller, caller);
    const batch = await readReport(db, batchId, person).catch(unless('not-found'));
    if (batch === undefined) return { batch: null };
    const { items } = await listItems(db, { batchId, person, page: { after: 0, limit: mostItemsShown } });
    return { batch: { ...batch, items } };
  });
  server.route('/internal/v1/batches:stop', { ...people, body: stopRequest }, async ({ batch_id: batchId, by }, { caller }) => {
    const stopped = await desk.command('stop', { batchId, person: byName(by, caller) }).catch(unless('not-found', 'batch-ended'));
    return { stopped: stopped !== undefined };
  });
}

/** The internal API has no conflicts: what the site does not allow is an answer like any other. @throws what is no refusal. */
function refusedApproval(error: unknown): Approval {
  if (!(error instanceof Refusal)) throw error;
  return { approved: 0, reason: error.problem.detail ?? error.problem.title, items: [] };
}

/** Undefined for a refusal of these types. @throws anything else. */
function unless(...types: string[]): (error: unknown) => undefined {
  return (error) => {
    if (types.some((type) => isRefused(error, type))) return undefined;
    throw error;
  };
}
