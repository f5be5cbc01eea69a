import { z } from 'zod';
import { instant, type Tx } from '#runtime';
import { refusals } from '../http/refusal.js';
import { addReader, Conditions, type Reader } from './letter-filter.js';
import { statementName } from './statement-name.js';

/** Letters of one decision; more are decided on in parts. */
const mostDecided = 20_000;
const mostIds = 500;

/** A hash of what the letters have in common, in the form of an id. */
const group = z.union([
  z.guid(),
  z.strictObject({
    key: z.guid(),
    as_of: instant.optional().describe('`as_of` of the answer with the groups. Absent: now.'),
  }),
]);

/** Letters by id, or all open ones of a group as they were at a moment. */
export const targetFields = {
  ids: z.array(z.uuid()).min(1).max(mostIds).optional(),
  group: group.optional(),
};
export interface Target {
  ids?: string[];
  group?: z.infer<typeof group>;
}

/** Exactly one of the two is there. */
export const oneTarget: [(target: Target) => boolean, { path: PropertyKey[]; params: object }] = [
  ({ ids, group: named }) => (ids === undefined) !== (named === undefined),
  { path: ['ids'], params: { problem: 'must be there once', fix: 'Name the letters in `ids`, or a `group`' } },
];

export interface Targeted {
  dead_letter_id: string;
  organization: string | null;
  state: string;
}

/**
 * The letters, locked. Throws refusals: `not-found` where one that is named is not there or not for this reader (nothing is done then, and
 * nobody learns which), `too-many-letters`.
 */
export async function lockTarget(tx: Tx, target: Target, reader: Reader): Promise<Targeted[]> {
  const ids = namedIds(target);
  const conditions = addReader(addTarget(new Conditions(), target), reader);
  const text = `
SELECT dead_letter_id, organization, state FROM dead_letter WHERE ${conditions.sql}
ORDER BY dead_letter_id LIMIT ${conditions.value(mostDecided + 1)} FOR UPDATE`;
  const rows = await tx.sql<Targeted>(statementName('target', text), text, conditions.values);
  if (rows.length === 0 || (ids !== undefined && rows.length < ids.length)) throw refusals.notFound();
  if (rows.length > mostDecided)
    throw refusals.conflict('too-many-letters', `One decision is about ${mostDecided} letters at most; name them by id`, {
      most: mostDecided,
    });
  return rows;
}

/** Each once, as PostgreSQL writes them; undefined for a group. */
export const namedIds = ({ ids }: Target): string[] | undefined => ids && [...new Set(ids.map((id) => id.toLowerCase()))];

/** Adds which letters are meant. Columns are those of `dead_letter`. */
export function addTarget(conditions: Conditions, target: Target): Conditions {
  const ids = namedIds(target);
  if (ids !== undefined) conditions.add('dead_letter_id = ANY (?::uuid[])', ids);
  if (target.group !== undefined) addGroup(conditions, target.group);
  return conditions;
}

function addGroup(conditions: Conditions, named: NonNullable<Target['group']>): void {
  const { key, as_of } = typeof named === 'string' ? { key: named, as_of: undefined } : named;
  conditions.add("state = 'open'").add('group_key = ?::uuid', key);
  if (as_of !== undefined) conditions.add('received_at <= ?::timestamptz', as_of);
}

/** What the audit says of it: ids and keys. */
export function describeTarget({ ids, group: named }: Target, letters: readonly Targeted[]): object {
  return { ...(ids === undefined ? { group: named } : { ids }), letters: letters.length };
}

/** The organization, where all are of one. */
export function onlyOrganization(letters: readonly Pick<Targeted, 'organization'>[]): string | null {
  const all = new Set(letters.map(({ organization }) => organization));
  return all.size === 1 ? ([...all][0] ?? null) : null;
}
