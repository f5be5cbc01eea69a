import type { GroupsAnswer, LetterGroup } from '../group-letters.js';
import type { LetterFilter, Reader } from '../letter-filter.js';
import { fitsNone, type HeldItem, nextAction, type OpenKind, ownerOf, runbook, untold } from './held-item.js';
import { now, type OpenTools, orAway, ownerPage, readOpen, unclaimedAt } from './read-open.js';

const onlyOfRecords = ['organization', 'schema_id', 'no_schema_id', 'q_ref'] as const;
const ofGroup = ['destination', 'class', 'code', 'owner'] as const;

/**
 * Open deliveries by destination and reason. Whoever may not see all organizations, or filters by what only records tell, has the first few
 * thousand counted one by one. What nobody has claimed is in no group.
 */
export async function groupOpen(all: OpenTools, asked: { kind: OpenKind; filter: LetterFilter }, reader: Reader): Promise<GroupsAnswer> {
  const { kind, filter } = asked;
  if (fitsNone(kind, filter)) return { as_of: new Date(await now(all.db)), items: [], left_out: 0 };
  const tools = { ...all, waiting: new Map([...all.waiting].filter(([service]) => service !== unclaimedAt)) };
  const as_of = new Date(await now(tools.db));
  const byRecord = onlyOfRecords.some((field) => filter[field] !== undefined);
  const unavailable = new Set<string>();
  const counted =
    reader.organizations === '*' && !byRecord
      ? await ownersGroups(tools, kind, unavailable)
      : groupsOf(await firstThousands(tools, { ...asked, unavailable }, reader));
  const items = counted.filter(
    (group) =>
      ofGroup.every((field) => filter[field] === undefined || filter[field] === group[field]) &&
      (filter.no_code === undefined || group.code === null),
  );
  return { as_of, items, left_out: 0, ...(unavailable.size > 0 && { unavailable: [...unavailable].sort() }) };
}

const noTrend = (): number[] => Array.from({ length: 24 }, () => 0);

async function ownersGroups({ waiting }: OpenTools, kind: OpenKind, unavailable: Set<string>): Promise<LetterGroup[]> {
  const all = await Promise.all([...waiting].map(([service, owner]) => orAway(owner.groups(kind), service, unavailable)));
  return all.flatMap((groups = []) =>
    groups.map((group) => {
      const { destination, count, overdue, sample_event_ids, reason = 'held', code = null } = group;
      const times = { first_at: new Date(group.first_at), last_at: new Date(group.last_at), respond_by: new Date(group.deadline_at) };
      return { ...named({ kind, destination, reason, code }), ...times, count, overdue, sample_event_ids };
    }),
  );
}

interface Named {
  kind: OpenKind;
  destination: string;
  reason: string;
  code: string | null;
}

function named({ kind, destination, reason, code }: Named) {
  const about = kind === 'uncertain' ? untold : { class: reason, owner: ownerOf(reason), next_action: nextAction, runbook };
  return {
    key: [kind, destination, about.class, code ?? ''].join(' '),
    ...about,
    destination,
    code,
    schema_id: null,
    trend: noTrend(),
    disposition: 'wait',
    assignee: null,
  };
}

/** Each of an owner's largest page. */
const countedPages = 20;

async function firstThousands(
  tools: OpenTools,
  { kind, filter, unavailable }: { kind: OpenKind; filter: LetterFilter; unavailable: Set<string> },
  reader: Reader,
): Promise<HeldItem[]> {
  const found = await readOpen(tools, { kind, filter, limit: countedPages * ownerPage, pages: countedPages }, reader);
  for (const service of found.unavailable) unavailable.add(service);
  return found.items.map(({ item }) => item);
}

function groupsOf(items: readonly HeldItem[]): LetterGroup[] {
  const groups = new Map<string, LetterGroup>();
  for (const item of items) {
    const base = named({ kind: item.state, destination: item.destination, reason: item.class, code: item.code });
    const [submitted, deadline] = [new Date(item.submitted_at), new Date(item.deadline_at)];
    const group = groups.get(base.key) ?? {
      ...base,
      first_at: submitted,
      last_at: submitted,
      respond_by: deadline,
      count: 0,
      overdue: 0,
      sample_event_ids: [],
    };
    group.count += 1;
    group.last_at = submitted;
    if (group.respond_by === null || deadline < group.respond_by) group.respond_by = deadline;
    if (deadline.getTime() < submitted.getTime() + item.age_ms) group.overdue += 1;
    if (group.sample_event_ids.length < 3) group.sample_event_ids.push(item.event_id);
    groups.set(base.key, group);
  }
  return [...groups.values()].sort((one, other) => other.count - one.count);
}
