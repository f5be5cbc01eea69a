// What a decision or a replay of a group takes, beside what the screen counts.
import type { BatchFilter, LetterGroup } from '../../api/types.js';
import { plain } from '../../parts/words.js';

/** Filters that the key of a group knows nothing of: with one of them set the counts are of a part, a decision is of the whole. */
const partial = ['organization', 'owner', 'assignee', 'disposition'] as const;

type Filter = Readonly<Partial<Record<string, string | undefined>>>;
type Cause = Pick<LetterGroup, 'class' | 'destination' | 'code' | 'schema_id'>;

/** Why nothing may be decided about a group while it is shown in part; undefined where it is shown whole. */
export function whyPartial(filter: Filter, except?: (typeof partial)[number]): string | undefined {
  const set = partial.filter((name) => name !== except && filter[name]);
  if (set.length === 0) return undefined;
  const names = set.map((name) => plain(name)).join(' and ');
  return `Clear the filter ${names}: a decision takes the whole group, not the part that is shown`;
}

/** Why a batch cannot be drafted of exactly this group as it is shown; undefined where it can. It can say an organization, beside all of the cause. */
export function whyNoReplay({ destination }: Pick<Cause, 'destination'>, filter: Filter): string | undefined {
  return destination === null ? 'It has no destination yet: the cause must be mended first' : whyPartial(filter, 'organization');
}

/** A group of deliveries that are still open: no dead letters are behind it. */
export const isLive = ({ key }: Pick<LetterGroup, 'key'>): boolean => /^(held|uncertain) /.test(key);

/** Why nothing is decided about deliveries that are still open. */
export const whyWait = (state: string): string =>
  state === 'held'
    ? 'What is held goes on by itself once its destination is released'
    : 'It is looked up at the destination by itself; its own page does so now, or takes what you found there';

/** What a batch of the group is drafted from: of what the group has none, the batch takes only letters without it. */
export function batchFilterOf({ class: failure, destination, code, schema_id: schema }: Cause, { organization }: Filter): BatchFilter {
  return {
    class: failure,
    ...(destination !== null && { destination }),
    ...(code === null ? { no_code: true as const } : { code }),
    ...(schema === null ? { no_schema_id: true as const } : { schema_id: schema }),
    ...(organization !== undefined && organization !== '' && { organization }),
  };
}
