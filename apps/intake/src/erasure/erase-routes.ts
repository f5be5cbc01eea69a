import { z } from 'zod';
import type { InternalServer, Logger } from '#runtime';
import { countPlaces } from './count-places.js';
import { type EraseTools, eraseLeads } from './erase-leads.js';
import { findSubject, findSubjectRequest, mostLeads, type SubjectTools } from './find-subject.js';

const callers = ['operator'];
const eventId = z.uuid().transform((id) => id.toLowerCase());

/**
 * For erasures, POST:
 * - /internal/v1/erasures:find: what belongs to a person, or to one lead, and how much of it is kept
 * - /internal/v1/leads:erase {event_ids, dry_run?}: destroys it, or only counts; says what is left
 */
export function serveErasure(server: InternalServer, tools: SubjectTools & EraseTools & { logger: Logger }): void {
  server.route('/internal/v1/erasures:find', { callers, body: findSubjectRequest }, (request) => findSubject(tools, request));
  const body = z.object({ event_ids: z.array(eventId).min(1).max(mostLeads), dry_run: z.boolean().default(false) });
  server.route('/internal/v1/leads:erase', { callers, body }, async ({ event_ids, dry_run }) => {
    if (dry_run) return { places: await countPlaces(tools.db, event_ids) };
    const answer = await eraseLeads(tools, event_ids);
    tools.logger.info({ count: event_ids.length, decision: 'erased' }, 'Leads erased');
    return answer;
  });
}
