import type { WindowItem, WindowOperation } from '#delivery';
import type { ExpectedRecord, FoundRecord } from '#destinations';
import { type DifferingField, differingFields } from './compare-fields.js';
import { mayBe } from './compare-status.js';
import type { Finding } from './finding.js';
import { changedByOthers, isLastWriter, isTooEarly, lastWriteMs } from './last-writer.js';
import { isRecordOf, recordOf } from './record-of.js';
import type { Rules } from './rules.js';

/** What an earlier comparison saw under this key. */
export interface Seen {
  ref: string;
  version?: string;
  /** The last one that was right. */
  status?: string;
  owned: boolean;
  /** When that was read, by the clock that records our writes; epoch milliseconds. */
  atMs: number;
}

/** One operation of a lead, and what the destination has of it. */
export interface Sides {
  item: WindowItem;
  operation: WindowOperation;
  /** Absent where nobody can say: the lead's payload cannot be read, or the connector does not tell. */
  expected?: ExpectedRecord;
  /** Everything that stands there under the key, or under the reference where the key leads to nothing. */
  records: readonly FoundRecord[];
  /** The records have no fields: the destination only said that they are there. */
  presenceOnly?: boolean;
  /** References under which the person that the record should hang on is there too: of a record that theirs was merged into, or made again as. */
  contactRefs?: readonly string[];
  seen?: Seen;
  /** When the records were read. */
  readAtMs: number;
}

export interface Compared {
  findings: Finding[];
  /** It should be there and is not; whether that counts is decided by {@link judgeAbsence}. */
  absent: boolean;
  /** It was read too soon after our last write: nothing is said of its content, so that nothing that was found of it is over either. */
  early?: boolean;
  /** What to remember of the record. */
  seen?: Seen;
}

/** Compares one operation with the destination's records of it. Pure; holds values for as long as it runs. */
export function compareOperation(sides: Sides, rules: Rules): Compared {
  const { item, operation, records } = sides;
  if (operation.state !== 'succeeded') return comparedUnsent(sides);
  const ours = recordOf(records, sides);
  const early = isTooEarly(sides, rules);
  const findings = ours === undefined ? [] : duplicates(sides, ours);
  if (ours !== undefined && !early) findings.push(...contentOf(sides, ours, rules), ...links(sides, ours));
  if (!operation.with_evidence) findings.push(relationship(sides, 'succeeded_without_attempt', {}));
  if (item.state === 'delivered' && operation.ref === undefined) {
    findings.push(relationship(sides, 'delivered_without_reference', ours === undefined ? {} : { found_ref: ours.ref }));
  } else if (ours !== undefined && !isRecordOf(ours, sides) && item.state === 'delivered') {
    findings.push(relationship(sides, 'delivered_without_reference', { ref: operation.ref ?? '', found_ref: ours.ref }));
  }
  return { findings, absent: ours === undefined, early, seen: ours && !early ? remembered(sides, ours, rules) : undefined };
}

/** A lead that was given up, or waits, is nevertheless there. A person's record may be there for another lead. */
function comparedUnsent({ item, operation, records }: Sides): Compared {
  const [found] = records;
  const isOver = ['dead', 'expired', 'discarded', 'waiting', 'held'].includes(operation.state);
  if (found === undefined || operation.kind === 'contact' || !isOver) return { findings: [], absent: false };
  const evidence = { state: operation.state, ...(found.createdAt !== undefined && { created_at: found.createdAt }) };
  return { findings: [{ ...about(item, operation), class: 'late', ref: found.ref, evidence }], absent: false };
}

function duplicates({ item, operation, records }: Sides, ours: FoundRecord): Finding[] {
  const others = new Map(records.filter(({ ref }) => ref !== ours.ref).map((record) => [record.ref, record]));
  return [...others.values()].map((record) => ({
    ...about(item, operation),
    class: 'duplicate' as const,
    ref: record.ref,
    evidence: { of: ours.ref, ...(record.createdAt !== undefined && { created_at: record.createdAt }) },
  }));
}

function contentOf(sides: Sides, ours: FoundRecord, rules: Rules): Finding[] {
  const { item, operation, expected, seen, presenceOnly } = sides;
  const findings: Finding[] = [];
  const base = { ...about(item, operation), class: 'content_conflict' as const, ref: ours.ref };
  if (ours.status !== undefined && !mayBe(ours.status, seen?.status, rules.transitions)) {
    const evidence = { status: ours.status, ...(seen?.status !== undefined && { seen_status: seen.status }) };
    findings.push({ ...base, aspect: 'status', evidence });
  }
  // What a merged record holds was chosen by whoever merged it, from both.
  if (expected !== undefined && !presenceOnly && !isMerged(ours)) {
    const newer = operation.kind === 'contact' ? item.newer_fields : [];
    const differing = differingFields({ expected: expected.fields, found: ours.fields, truth: rules.fields, newer, hide: rules.hide });
    findings.push(...valueFindings(base, differing, { sides, ours, rules }));
  }
  if (findings.length === 0 && isUnexplained(sides, ours, rules)) {
    const evidence = { version: ours.version ?? '', seen_version: seen?.version ?? '' };
    findings.push({ ...base, aspect: 'version', evidence });
  }
  return findings;
}

const isMerged = ({ mergedRefs = [] }: FoundRecord): boolean => mergedRefs.length > 0;

/**
 * Its version is older than one that was seen, as after a restored backup; or it was written with our credentials since, although we have
 * written nothing.
 */
function isUnexplained(sides: Sides, record: FoundRecord, { maxExecutionMs, searchLagMs }: Rules): boolean {
  const { seen } = sides;
  const { version, changedBy } = record;
  // A record that took the place of another has a version of its own.
  if (isMerged(record) || seen?.ref !== nameOfSeen(sides, record)) return false;
  if (version === undefined || seen.version === undefined || version === seen.version) return false;
  if (isOlder(version, seen.version)) return true;
  return changedBy === 'us' && lastWriteMs(sides) + maxExecutionMs + searchLagMs < seen.atMs;
}

type Base = Pick<Finding, 'class' | 'kind' | 'eventId' | 'ref' | 'atMs'>;

function valueFindings(
  base: Base,
  differing: readonly DifferingField[],
  { sides, ours, rules }: { sides: Sides; ours: FoundRecord; rules: Rules },
): Finding[] {
  const known = differing.map((field) => ({ ...field, changed: changedByOthers(sides, { record: ours, field: field.name }, rules) }));
  // Whoever wrote last is right about the newest: there it is them.
  const counted = known.filter(({ truth, changed }) => truth === 'ours' || (truth === 'newest' && !changed));
  // A repair writes all that the lead carries: every difference has to be a loss of ours, also one that does not count.
  const isOurs = isLastWriter(sides) && known.every(({ truth, changed }) => truth !== 'theirs' && changed === false);
  const findings = (['human_change', 'value'] as const).map((aspect): Finding => {
    const names = counted.filter(({ changed }) => (aspect === 'human_change') === (changed === true)).map(({ told }) => told);
    const fields = [...new Set(names)].sort();
    const changedBy = aspect === 'human_change' ? 'other' : isOurs ? 'us' : ours.changedBy;
    const evidence = {
      ...(ours.changedAt !== undefined && { changed_at: ours.changedAt }),
      ...(ours.changedBy !== undefined && { changed_by: changedBy ?? ours.changedBy }),
      ...(ours.version !== undefined && { version: ours.version }),
    };
    return { ...base, aspect, fields, evidence, ...(aspect === 'value' && isOurs && { repair: 'update' as const }) };
  });
  return findings.filter(({ fields }) => fields?.length !== 0);
}

/** Versions that are numbers only grow; others have no order. */
function isOlder(version: string | undefined, seen: string | undefined): boolean {
  const digits = /^\d{1,18}$/;
  if (version === undefined || seen === undefined || !digits.test(version) || !digits.test(seen)) return false;
  return BigInt(version) < BigInt(seen);
}

function links(sides: Sides, { ref, links: found = {} }: FoundRecord): Finding[] {
  const { expected, seen, contactRefs = [] } = sides;
  const findings: Finding[] = [];
  const wanted = expected?.links?.contact;
  const isRight = found.contact === wanted || contactRefs.includes(found.contact ?? '');
  if (wanted !== undefined && Object.hasOwn(found, 'contact') && !isRight) {
    findings.push({ ...relationship(sides, 'wrong_contact', { contact: found.contact ?? '', expected_contact: wanted }), ref });
  }
  const shouldBeOwned = expected?.links?.owner !== undefined || seen?.owned === true;
  if (shouldBeOwned && Object.hasOwn(found, 'owner') && isEmpty(found.owner)) {
    findings.push({ ...relationship(sides, 'assigned_without_owner', {}), ref });
  }
  return findings;
}

const isEmpty = (text: string | undefined): boolean => text === undefined || text === '';

function relationship({ item, operation }: Sides, aspect: Finding['aspect'], evidence: Finding['evidence']): Finding {
  return { ...about(item, operation), class: 'relationship', aspect, ref: operation.ref, evidence };
}

/** A record that others were merged into goes on under the reference that its operation has. */
const nameOfSeen = ({ operation }: Sides, { ref, mergedRefs }: FoundRecord): string =>
  operation.ref !== undefined && mergedRefs?.includes(operation.ref) ? operation.ref : ref;

/** A version that nothing explains is not remembered, so that it is found again until a person has said what is right. */
function remembered(sides: Sides, ours: FoundRecord, rules: Rules): Seen {
  const { seen, readAtMs } = sides;
  const statusCounts = ours.status !== undefined && mayBe(ours.status, seen?.status, rules.transitions);
  const isVersionKept = seen !== undefined && isUnexplained(sides, ours, rules);
  return {
    ref: nameOfSeen(sides, ours),
    version: isVersionKept ? seen.version : ours.version,
    atMs: isVersionKept ? seen.atMs : readAtMs,
    status: statusCounts ? ours.status : seen?.status,
    owned: (seen?.owned ?? false) || !isEmpty(ours.links?.owner),
  };
}

/** What every finding of an operation says. */
export function about(item: WindowItem, operation: WindowOperation): Omit<Finding, 'class' | 'evidence'> {
  return {
    kind: operation.kind,
    eventId: item.event_id,
    leadRef: item.lead_ref,
    organization: item.organization,
    operationKey: operation.operation_key,
    atMs: Date.parse(item.submitted_at),
  };
}
