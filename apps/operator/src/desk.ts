import { z } from 'zod';
import type { CommandAnswer, DestinationsAnswer } from '#delivery';
import type { Database, InternalServer, Site } from '#runtime';
import { type CommandTools, sendCommand, sendRequest } from './commands.js';
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
  constructor(private readonly tools: CommandTools & { db: Database; site: Site }) {}

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
}

const people = { callers: ['leadctl'] };

/** The same over the internal API, for leadctl. */
export function serveDesk(server: InternalServer, desk: Desk): void {
  server.route('/internal/v1/dead-letters:list', { ...people, body: listRequest }, (body) => desk.list(body));
  server.route('/internal/v1/dead-letters:show', { ...people, body: showRequest }, ({ event_id }) => desk.show(event_id));
  server.route('/internal/v1/dead-letters:dismiss', { ...people, body: dismissRequest }, (body, { caller }) => desk.dismiss(body, caller));
  server.route('/internal/v1/destinations:state', { ...people, body: z.object({}) }, () => desk.destinations());
  server.route('/internal/v1/commands:send', { ...people, body: sendRequest }, (body, { caller }) => desk.send(body, caller));
}
