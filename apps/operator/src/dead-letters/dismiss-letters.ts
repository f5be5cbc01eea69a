import { z } from 'zod';
import { reasonText } from '#delivery';
import type { Sql } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { refusals } from '../http/refusal.js';
import { ownerBatch } from '../owners/owner-api.js';
import type { Person } from '../people/person.js';
import { closeJudged, countOutcomes, type DismissCounts, type DismissTools, judgeDismissals } from './judge-dismissal.js';
import { addReader, Conditions } from './letter-filter.js';
import { addTarget, namedIds, oneTarget, onlyOrganization, targetFields } from './letter-target.js';
import { statementName } from './statement-name.js';

/** Letters of one request: it ends within seconds. More are gone on with by `next`. */
const mostAtOnce = 5_000;

export const dismissManyRequest = z
  .strictObject({
    ...targetFields,
    expected: z
      .number()
      .int()
      .min(1)
      .max(100_000_000)
      .optional()
      .describe('Of a group: its `count` as it was shown. Where more letters than that are open in it now, nothing is dismissed.'),
    after: z.uuid().optional().describe('`next` of the answer before.'),
    reason: reasonText.min(1),
  })
  .refine(...oneTarget)
  .refine(({ group }) => group === undefined || (typeof group === 'object' && group.as_of !== undefined), {
    path: ['group', 'as_of'],
    params: { problem: 'is missing', fix: 'Send `group` with its `key` and the `as_of` of the answer that showed it' },
  })
  .refine(({ group, expected }) => group === undefined || expected !== undefined, {
    path: ['expected'],
    params: { problem: 'is missing', fix: 'Say how many letters the group had when it was shown' },
  });
export type DismissManyRequest = z.infer<typeof dismissManyRequest>;

export const dismissedLetters = z.object({
  dismissed: z.number().describe('How many were closed by this request.'),
  left: z
    .object({
      delivery_decides: z.number().describe('They close by what becomes of their delivery: replay or discard it.'),
      in_batch: z.number().describe('An approved batch has them.'),
      closed_before: z.number().describe('Somebody else closed them meanwhile.'),
    })
    .describe('How many stay as they are, by why.'),
  next: z.uuid().optional().describe('There are more letters: ask again with it as `after`.'),
});
export type DismissedLetters = z.infer<typeof dismissedLetters>;

/**
 * Closes the letters of a group that may be closed, or those that are named; the others stay and are counted. A page of them: whoever gives its
 * `next` as `after` goes on, and whoever asks anew closes only what is left. Each part of the page is closed with its entry in the audit or
 * not at all; what was closed before a failure stays closed. Throws refusals: `group-changed`, with the number of letters, where more are
 * open than were seen; `not-found` where one that is named is not there or not for this person. Rejects with InternalUnavailable while an
 * owner cannot be asked.
 */
export async function dismissLetters(tools: DismissTools, request: DismissManyRequest, person: Person): Promise<DismissedLetters> {
  const { ids, more } = await pageOf(tools.db, request, person);
  const total = countOutcomes([]);
  for (let at = 0; at < ids.length; at += ownerBatch) {
    add(total, await dismissPart(tools, { ids: ids.slice(at, at + ownerBatch), request, person }));
  }
  return { ...total, ...(more && { next: ids.at(-1) }) };
}

interface Part {
  ids: readonly string[];
  request: DismissManyRequest;
  person: Person;
}

async function dismissPart(tools: DismissTools, { ids, request, person }: Part): Promise<DismissCounts> {
  const { group, expected, reason } = request;
  const judged = await judgeDismissals(tools, ids);
  return tools.db.transaction(async (tx) => {
    const counts = countOutcomes(await closeJudged(tx, judged));
    const about = group === undefined ? { ids } : { group, expected, from: ids[0], to: ids.at(-1) };
    const subject = { ...about, letters: ids.length, ...counts, reason };
    await audit(tx, { ...actor(person), action: 'dead_letter.dismiss', organization: onlyOrganization(judged), subject });
    return counts;
  });
}

function add(total: DismissCounts, { dismissed, left }: DismissCounts): void {
  total.dismissed += dismissed;
  for (const why of Object.keys(left) as (keyof typeof left)[]) total.left[why] += left[why];
}

/** The next letters in the order of their ids. How many there are is counted by the same statement: nobody dismisses more than was seen. */
async function pageOf(db: Sql, request: DismissManyRequest, person: Person): Promise<{ ids: string[]; more: boolean }> {
  const { after, expected } = request;
  const conditions = addReader(addTarget(new Conditions(), request), person);
  const begin = after === undefined ? '' : ` WHERE dead_letter_id > ${conditions.value(after)}::uuid`;
  const text = `
WITH found AS MATERIALIZED (SELECT dead_letter_id FROM dead_letter WHERE ${conditions.sql})
SELECT (SELECT count(*)::int FROM found) AS count,
  array(SELECT dead_letter_id::text FROM found${begin} ORDER BY dead_letter_id LIMIT ${mostAtOnce + 1}) AS ids`;
  const [found] = await db.sql<{ count: number; ids: string[] }>(statementName('to_dismiss', text), text, conditions.values);
  const { count = 0, ids = [] } = found ?? {};
  if (count < (namedIds(request)?.length ?? 0)) throw refusals.notFound();
  if (expected !== undefined && count > expected)
    throw refusals.conflict('group-changed', `It has ${count} letters now, more than the ${expected} that were seen: look at it again`, {
      count,
    });
  return { ids: ids.slice(0, mostAtOnce), more: ids.length > mostAtOnce };
}
