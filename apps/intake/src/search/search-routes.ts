import { z } from 'zod';
import type { InternalServer } from '#runtime';
import { type FindTools, findLeads, findLeadsRequest } from './find-leads.js';
import { type CourseTools, leadCourse } from './lead-course.js';
import { unclaimedPage, unclaimedPageRequest } from './unclaimed-page.js';

const callers = ['operator'];
const courseRequest = z.object({ event_id: z.uuid().transform((id) => id.toLowerCase()) });

/**
 * For people who look for a lead, POST:
 * - /internal/v1/leads:find: leads by an id, or by an address that somebody typed; addresses come in the body alone and are hashed at once
 * - /internal/v1/leads:course: what intake knows of one lead, `course` null where it knows nothing
 * - /internal/v1/deliveries:waiting: a page of what nobody has claimed
 */
export function serveSearch(server: InternalServer, tools: FindTools & CourseTools): void {
  server.route('/internal/v1/leads:find', { callers, body: findLeadsRequest }, async (request) => ({
    items: await findLeads(tools, request),
  }));
  server.route('/internal/v1/leads:course', { callers, body: courseRequest }, async ({ event_id }) => ({
    course: (await leadCourse(tools, event_id)) ?? null,
  }));
  server.route('/internal/v1/deliveries:waiting', { callers, body: unclaimedPageRequest }, (request) => unclaimedPage(tools.db, request));
}
