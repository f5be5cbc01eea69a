import { z } from 'zod';
import type { CommandAnswer, DestinationsAnswer } from '#delivery';
import type { InternalServer } from '#runtime';
import { audit } from './audit/audit.js';
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
import { sendCommand, sendRequest } from './commands.js';
import { type DismissAnswer, type DismissRequest, dismissLetter, dismissRequest } from './dead-letters/dismiss-letter.js';
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

  dismiss(request: DismissRequest, caller: string): Promise<DismissAnswer> {
    return dismissLetter(this.tools, request, caller);
  }

  send(request: z.infer<typeof sendRequest>, caller: string): Promise<CommandAnswer> {
    return sendCommand(this.tools, request, caller);
  }

  async destinations(): Promise<DestinationsAnswer> {
    const answers = await Promise.all([...this.tools.owners.values()].map((owner) => owner.destinations()));
    return { items: answers.flatMap(({ items }) => items) };
  }

  approve(request: ApproveRequest, caller: string): Promise<Approval> {
    return approveItems(this.tools, request, caller);
  }

  batch(batchId: string): Promise<BatchReport | undefined> {
    return readBatch(this.tools.db, batchId);
  }

  async stop(request: { batch_id: string; by: string }, caller: string): Promise<boolean> {
    const { db, logger } = this.tools;
    const { batch_id, by } = request;
    const stopped = await db.transaction(async (tx) => {
      const done = await stopBatch(tx, request);
      await audit(tx, { caller, person: by, action: 'batch.stop', subject: { batch_id, stopped: done } });
      return done;
    });
    if (stopped) logger.info({ batch_id, caller }, 'Replay batch stopped');
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
  server.route('/internal/v1/dead-letters:dismiss', { ...people, body: dismissRequest }, (body, { caller }) => desk.dismiss(body, caller));
  server.route('/internal/v1/items:approve', { ...people, body: approveRequest }, (body, { caller }) => desk.approve(body, caller));
  server.route('/internal/v1/batches:show', { ...people, body: batchRequest }, async ({ batch_id }) => ({
    batch: (await desk.batch(batch_id)) ?? null,
  }));
  server.route('/internal/v1/batches:stop', { ...people, body: stopRequest }, async (body, { caller }) => ({
    stopped: await desk.stop(body, caller),
  }));
  server.route('/internal/v1/destinations:state', { ...people, body: z.object({}) }, () => desk.destinations());
  server.route('/internal/v1/commands:send', { ...people, body: sendRequest }, (body, { caller }) => desk.send(body, caller));
}
