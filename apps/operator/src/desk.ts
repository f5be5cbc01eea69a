import type { InternalServer } from '#runtime';
import { type Approval, type ApproveRequest, type ApproveTools, approveItems, approveRequest } from './batches/approve-items.js';
import {
  type BatchReport,
  batchRequest,
  batchStatesRequest,
  batchStatesRoute,
  readBatch,
  stopBatch,
  stopRequest,
} from './batches/batches.js';
import {
  type DeadLetterDetail,
  type DeadLetterPage,
  type ListRequest,
  listLetters,
  listRequest,
  showLetters,
  showRequest,
} from './dead-letters/list-letters.js';

/** What people can ask and decide, whichever door they come through. */
export class Desk {
  constructor(private readonly tools: ApproveTools) {}

  list(request: ListRequest): Promise<DeadLetterPage> {
    return listLetters(this.tools.db, request);
  }

  show(eventId: string): Promise<{ items: DeadLetterDetail[] }> {
    return showLetters(this.tools.db, eventId);
  }

  approve(request: ApproveRequest, caller: string): Promise<Approval> {
    return approveItems(this.tools, request, caller);
  }

  batch(batchId: string): Promise<BatchReport | undefined> {
    return readBatch(this.tools.db, batchId);
  }

  async stop(request: { batch_id: string; by: string }): Promise<boolean> {
    const stopped = await stopBatch(this.tools.db, request);
    if (stopped) this.tools.logger.info({ batch_id: request.batch_id }, 'Replay batch stopped');
    return stopped;
  }
}

const people = { callers: ['leadctl'] };

/** The same over the internal API, for leadctl; and for the services what they ask before each claim of a replayed record. */
export function serveDesk(server: InternalServer, desk: Desk, { db }: Pick<ApproveTools, 'db'>): void {
  server.route(
    '/internal/v1/batches:state',
    { callers: ['crm-writer', 'notifier', 'leadctl'], body: batchStatesRequest },
    batchStatesRoute(db),
  );
  server.route('/internal/v1/dead-letters:list', { ...people, body: listRequest }, (body) => desk.list(body));
  server.route('/internal/v1/dead-letters:show', { ...people, body: showRequest }, ({ event_id }) => desk.show(event_id));
  server.route('/internal/v1/items:approve', { ...people, body: approveRequest }, (body, { caller }) => desk.approve(body, caller));
  server.route('/internal/v1/batches:show', { ...people, body: batchRequest }, async ({ batch_id }) => ({
    batch: (await desk.batch(batch_id)) ?? null,
  }));
  server.route('/internal/v1/batches:stop', { ...people, body: stopRequest }, async (body) => ({ stopped: await desk.stop(body) }));
}
