// What a decision or a replay of a group takes, beside what the screen counts.
import type { BatchFilter, LetterGroup } from '../../api/types.js';
import { plain } from '../../parts/words.js';

/** Filters that the key of a group knows nothing of: with one of them set the counts are of a part, a decision is of the whole. */
const partial = ['organization', 'owner', 'assignee', 'disposition'] as const;

type Filter = Readonly<Partial<Record<string, string | undefined>>>;
type Cause = Pick<LetterGroup, 'key' | 'class' | 'destination' | 'code' | 'schema_id'>;

/** Why nothing may be decided about a group while it is shown in part; undefined where it is shown whole. */
export function whyPartial(filter: Filter, except?: (typeof partial)[number]): string | undefined {
  const set = partial.filter((name) => name !== except && filter[name]);
  if (set.length === 0) return undefined;
  const names = set.map((name) => plain(name)).join(' and ');
  return `Clear the filter ${names}: a decision takes the whole group, not the part that is shown`;
}

/**
 * Why a batch cannot be drafted of exactly this group; undefined where it can. A batch is named by class, destination, code and organization: it
 * cannot say "without a code" and knows no schema.
 */
export function whyNoReplay(group: Cause, filter: Filter, shown: { groups: readonly Cause[]; leftOut: number }): string | undefined {
  if (group.destination === null) return 'It has no destination yet: the cause must be mended first';
  const part = whyPartial(filter, 'organization');
  if (part !== undefined) return part;
  const alike = shown.groups.filter(
    ({ key, class: failure, destination }) => key !== group.key && failure === group.class && destination === group.destination,
  );
  const hidden = shown.leftOut > 0 || Boolean(filter.group);
  if (group.code === null && (alike.length > 0 || hidden || filter.schema_id))
    return 'It has no code, and a batch cannot leave those with one out: open its list and tick the letters';
  if (alike.some(({ code }) => code === group.code) || (group.schema_id && (filter.schema_id || hidden)))
    return 'A batch cannot tell its schema from others with the same cause: open its list and tick the letters';
  return undefined;
}

/** What a batch of the group is drafted from. */
export function batchFilterOf({ class: failure, destination, code }: Cause, { organization }: Filter): BatchFilter {
  return {
    class: failure,
    ...(destination !== null && { destination }),
    ...(code !== null && { code }),
    ...(organization !== undefined && organization !== '' && { organization }),
  };
}
