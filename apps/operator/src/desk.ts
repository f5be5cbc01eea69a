import { z } from 'zod';
import type { CommandAnswer, DestinationsAnswer } from '#delivery';
import type { InternalServer } from '#runtime';
import type { OpenArea } from './area.js';
import { type CommandTools, sendCommand, sendRequest } from './commands.js';
import { type DismissAnswer, type DismissRequest, dismissLetter, dismissRequest } from './dead-letters/dismiss-letter.js';
import type { DismissTools } from './dead-letters/judge-dismissal.js';
import { everywhere } from './dead-letters/letter-filter.js';
import type { DeadLetterDetail } from './dead-letters/letter-item.js';
import { type DeadLetterPage, type ListRequest, listLetters, listRequest, showLetters, showRequest } from './dead-letters/list-letters.js';

/** What whoever holds the keys of the installation can ask and decide. */
class Desk {
  constructor(private readonly tools: CommandTools & DismissTools) {}

  list(request: ListRequest): Promise<DeadLetterPage> {
    return listLetters(this.tools.db, request, everywhere);
  }

  show(eventId: string): Promise<{ items: DeadLetterDetail[] }> {
    return showLetters(this.tools.db, eventId, everywhere);
  }

  dismiss(request: DismissRequest, caller: string): Promise<DismissAnswer> {
    return dismissLetter(this.tools, request, caller);
  }

  send(request: z.infer<typeof sendRequest>, caller: string): Promise<CommandAnswer> {
    return sendCommand(this.tools, request, { caller });
  }

  async destinations(): Promise<DestinationsAnswer> {
    const answers = await Promise.all([...this.tools.owners.values()].map((owner) => owner.destinations()));
    return { items: answers.flatMap(({ items }) => items) };
  }
}

const people = { callers: ['leadctl'] };
/** The reconciler holds them against what their owners have. */
const readers = { callers: ['leadctl', 'reconciler'] };

/** Over the internal API, for leadctl. */
function serveDesk(server: InternalServer, desk: Desk): void {
  server.route('/internal/v1/dead-letters:list', { ...readers, body: listRequest }, (body) => desk.list(body));
  server.route('/internal/v1/dead-letters:show', { ...people, body: showRequest }, ({ event_id }) => desk.show(event_id));
  server.route('/internal/v1/dead-letters:dismiss', { ...people, body: dismissRequest }, (body, { caller }) => desk.dismiss(body, caller));
  server.route('/internal/v1/destinations:state', { ...people, body: z.object({}) }, () => desk.destinations());
  server.route('/internal/v1/commands:send', { ...people, body: sendRequest }, (body, { caller }) => desk.send(body, caller));
}

/** What is asked at the internal door alone. */
export const deskArea: OpenArea = (tools) => ({ serve: (server) => serveDesk(server, new Desk(tools)) });
