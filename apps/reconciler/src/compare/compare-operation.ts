import type { WindowItem, WindowOperation } from '#delivery';
import type { ExpectedRecord, FoundRecord } from '#destinations';
import { differingFields } from './compare-fields.js';
import { mayBe } from './compare-status.js';
import type { Finding } from './finding.js';
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
  seen?: Seen;
  /** When the records were read. */
  readAtMs: number;
}

export interface Compared {
  findings: Finding[];
  /** It should be there and is not; whether that counts is decided by {@link judgeAbsence}. */
  absent: boolean;
  /** What to remember of the record. */
  seen?: Seen;
}

/** Clocks of the destination and of ours differ: a change that much after our answer may still be ours. */
const clockDifferenceMs = 1_000;

/** Compares one operation with the destination's records of it. Pure; holds values for as long as it runs. */
export function compareOperation(sides: Sides, rules: Rules): Compared {
  const { item, operation, records } = sides;
  if (operation.state !== 'succeeded') return comparedUnsent(sides);
  const ours = records.find(({ ref }) => ref === operation.ref) ?? records[0];
  const findings = ours === undefined ? [] : [...duplicates(sides, ours), ...contentOf(sides, ours, rules), ...links(sides, ours)];
  if (!operation.with_evidence) findings.push(relationship(sides, 'succeeded_without_attempt', {}));
  if (item.state === 'delivered' && operation.ref === undefined) {
    findings.push(relationship(sides, 'delivered_without_reference', ours === undefined ? {} : { found_ref: ours.ref }));
  } else if (ours !== undefined && ours.ref !== operation.ref && item.state === 'delivered') {
    findings.push(relationship(sides, 'delivered_without_reference', { ref: operation.ref ?? '', found_ref: ours.ref }));
  }
  return { findings, absent: ours === undefined, seen: ours && remembered(sides, ours, rules) };
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
  if (expected !== undefined && !presenceOnly) {
    const newer = operation.kind === 'contact' ? item.newer_fields : [];
    const differing = differingFields({ expected: expected.fields, found: ours.fields, truth: rules.fields, newer });
    findings.push(...valueFindings(base, differing, { ours, changed: changedByOthers(sides, ours) }));
  }
  if (findings.length === 0 && isUnexplained(sides, ours, rules)) {
    const evidence = { version: ours.version ?? '', seen_version: seen?.version ?? '' };
    findings.push({ ...base, aspect: 'version', evidence });
  }
  return findings;
}

/**
 * Its version is older than one that was seen, as after a restored backup; or it was written with our credentials since, although we have
 * written nothing.
 */
function isUnexplained(sides: Sides, { version, changedBy }: FoundRecord, { maxExecutionMs, searchLagMs }: Rules): boolean {
  const { seen } = sides;
  if (version === undefined || seen?.version === undefined || version === seen.version) return false;
  if (isOlder(version, seen.version)) return true;
  return changedBy === 'us' && lastWriteMs(sides) + maxExecutionMs + searchLagMs < seen.atMs;
}

type Base = Pick<Finding, 'class' | 'kind' | 'eventId' | 'ref' | 'atMs'>;

function valueFindings(
  base: Base,
  differing: ReturnType<typeof differingFields>,
  { ours, changed }: { ours: FoundRecord; changed: boolean | undefined },
): Finding[] {
  // Whoever wrote last is right: there it is them.
  const counted = changed ? differing.filter(({ truth }) => truth === 'ours') : differing;
  if (counted.length === 0) return [];
  const evidence = {
    ...(ours.changedAt !== undefined && { changed_at: ours.changedAt }),
    ...(ours.changedBy !== undefined && { changed_by: ours.changedBy }),
    ...(ours.version !== undefined && { version: ours.version }),
  };
  const fields = counted.map(({ name }) => name).sort();
  if (changed) return [{ ...base, aspect: 'human_change', fields, evidence }];
  // Where nobody can say who changed it last, a person may have: nothing is proposed then.
  return [{ ...base, aspect: 'value', fields, evidence, ...(changed === false && { repair: 'update' as const }) }];
}

/** True: somebody else wrote it after we did. Undefined: the destination does not tell. */
function changedByOthers(sides: Sides, { changedBy, changedAt }: FoundRecord): boolean | undefined {
  if (changedBy !== undefined) return changedBy === 'other';
  if (changedAt === undefined) return undefined;
  return Date.parse(changedAt) > lastWriteMs(sides) + clockDifferenceMs;
}

/** When we recorded our last write of the record: a person's by any of their leads. */
function lastWriteMs({ item, operation }: Pick<Sides, 'item' | 'operation'>): number {
  const writes = [operation.recorded_at, ...(operation.kind === 'contact' ? [item.contact_written_at] : [])];
  return Math.max(...writes.map((at) => (at === undefined ? 0 : Date.parse(at))));
}

/** Versions that are numbers only grow; others have no order. */
function isOlder(version: string | undefined, seen: string | undefined): boolean {
  const digits = /^\d{1,18}$/;
  if (version === undefined || seen === undefined || !digits.test(version) || !digits.test(seen)) return false;
  return BigInt(version) < BigInt(seen);
}

function links(sides: Sides, { ref, links: found = {} }: FoundRecord): Finding[] {
  const { expected, seen } = sides;
  const findings: Finding[] = [];
  const wanted = expected?.links?.contact;
  if (wanted !== undefined && Object.hasOwn(found, 'contact') && found.contact !== wanted) {
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

/** A version that nothing explains is not remembered, so that it is found again until a person has said what is right. */
function remembered(sides: Sides, ours: FoundRecord, rules: Rules): Seen {
  const { seen, readAtMs } = sides;
  const statusCounts = ours.status !== undefined && mayBe(ours.status, seen?.status, rules.transitions);
  const isVersionKept = seen !== undefined && isUnexplained(sides, ours, rules);
  return {
    ref: ours.ref,
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
