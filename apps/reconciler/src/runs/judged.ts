import type { DiscrepancyAspect, DiscrepancyClass } from '#delivery';
import type { Compared, Sides } from '../compare/compare-operation.js';
import { recordOf } from '../compare/record-of.js';

/** A class with its aspect, as `class` or `class/aspect`. */
export type FindingName = DiscrepancyClass | `${DiscrepancyClass}/${DiscrepancyAspect}`;

/** What a comparison has decided about a lead: of these discrepancies, those that it did not find again are right by now. */
export interface Judged {
  eventId: string;
  /** Kind of record; absent: of the lead as a whole. */
  kind?: string;
  /** Absent: all, since nobody compares the lead any more. */
  names?: FindingName[];
}

const ofPresence: readonly FindingName[] = ['missing', 'deleted'];
const ofRecord: readonly FindingName[] = [
  'duplicate',
  'content_conflict/value',
  'content_conflict/status',
  'content_conflict/version',
  'content_conflict/human_change',
  'relationship/delivered_without_reference',
  'relationship/assigned_without_owner',
  'relationship/wrong_contact',
];

/**
 * What comparing an operation decides. What was not compared (its payload cannot be read, the destination does not tell, it was read too
 * early, its repair is not through) is not decided, however little was found. Pure. @param isGone the record is known not to be there
 */
export function judgedBy(sides: Sides, compared: Pick<Compared, 'findings' | 'early'>, isGone: boolean): FindingName[] {
  const { item, operation, records } = sides;
  if (operation.state !== 'succeeded') return isOutstanding(sides) ? ['late'] : ['late', ...ofPresence];
  const always: FindingName[] = ['late', 'relationship/succeeded_without_attempt'];
  // Of a record that is not there nothing else can be wrong.
  if (isGone) return [...always, ...ofPresence, ...ofRecord];
  const ours = recordOf(records, sides);
  if (ours === undefined) return always;
  return [
    ...always,
    ...ofPresence,
    ...named('relationship/delivered_without_reference', item.state === 'delivered'),
    ...named('duplicate', sides.presenceOnly !== true),
    ...(compared.early ? [] : [...contentJudged(sides, ours, compared.findings), ...linksJudged(sides, ours)]),
  ];
}

/** It should be there by our word, and is not: what failed to be made again is missing still. A person's word ends it. */
function isOutstanding({ operation, records }: Sides): boolean {
  return records.length === 0 && operation.state !== 'discarded';
}

function contentJudged(
  { expected, presenceOnly = false }: Sides,
  { status, version }: Sides['records'][number],
  findings: Compared['findings'],
): FindingName[] {
  const isCompared = expected !== undefined && !presenceOnly;
  // A version is looked at only where nothing else differs.
  const differs = findings.some((one) => one.class === 'content_conflict' && one.aspect !== 'version');
  return [
    ...named('content_conflict/value', isCompared),
    ...named('content_conflict/human_change', isCompared),
    ...named('content_conflict/status', status !== undefined),
    ...named('content_conflict/version', version !== undefined && !differs),
  ];
}

function linksJudged({ expected }: Sides, { links = {} }: Sides['records'][number]): FindingName[] {
  const { owner } = links;
  const isOwned = owner !== undefined && owner !== '';
  return [
    ...named('relationship/wrong_contact', expected?.links?.contact !== undefined && Object.hasOwn(links, 'contact')),
    ...named('relationship/assigned_without_owner', Object.hasOwn(links, 'owner') && (isOwned || expected !== undefined)),
  ];
}

const named = (name: FindingName, isJudged: boolean): FindingName[] => (isJudged ? [name] : []);
