import type { DiscrepancyClass, DiscrepancyState } from '#delivery';
import type { Tx } from '#runtime';
import { type Finding, identityOf } from '../compare/finding.js';
import { policyOf } from '../compare/next-steps.js';
import type { Judged } from '../runs/judged.js';
import { isAccepted, joined } from './accepted.js';

export interface StoreOptions {
  destination: string;
  runId: string;
  /** Who is given everything of this destination; absent: by class. */
  owner?: string;
}

interface KnownRow {
  identity: string;
  state: DiscrepancyState;
  last_run_id: string;
  fields: string[];
  evidence: Finding['evidence'];
}

const knownSql =
  'SELECT identity, state, last_run_id, fields, evidence FROM discrepancy WHERE identity = ANY ($1::text[]) ORDER BY identity FOR UPDATE';

/**
 * A discrepancy that is found again is the same one. What is being repaired stays that; one that was repaired, or had gone, is open again:
 * unless the repair came after this run began to look. So is one that was accepted as something else.
 */
const storeSql = `
INSERT INTO discrepancy AS d (identity, destination, organization, event_id, lead_ref, kind, operation_key, ref, class, aspect, fields, evidence,
  urgency, owner, repair, state, at, first_run_id, last_run_id, first_seen_at, last_seen_at, changed_at)
SELECT i.identity, $2, i.organization, i.event_id, i.lead_ref, i.kind, i.operation_key, i.ref, i.class, i.aspect, i.fields, i.evidence, i.urgency,
  i.owner, i.repair, 'open', to_timestamp(i.at_ms / 1000), $3, $3, clock_now(), clock_now(), clock_now()
FROM json_to_recordset($1::json) AS i(identity text, organization text, event_id uuid, lead_ref text, kind text, operation_key text, ref text,
  class text, aspect text, fields text[], evidence jsonb, urgency text, owner text, repair text, at_ms float8)
ON CONFLICT (identity) DO UPDATE
SET organization = excluded.organization, event_id = excluded.event_id, lead_ref = excluded.lead_ref, operation_key = excluded.operation_key,
  ref = excluded.ref, fields = excluded.fields, evidence = excluded.evidence, urgency = excluded.urgency, owner = excluded.owner,
  repair = excluded.repair, last_run_id = excluded.last_run_id, last_seen_at = excluded.last_seen_at,
  state = CASE WHEN d.state IN ('gone', 'accepted') OR (d.state = 'repaired' AND d.changed_at < $4) THEN 'open' ELSE d.state END,
  changed_at = CASE WHEN d.state IN ('gone', 'accepted') OR (d.state = 'repaired' AND d.changed_at < $4) THEN excluded.changed_at ELSE d.changed_at END`;

/** What was accepted stays as it was accepted: it is what the next comparison goes by. */
const seenAgainSql = 'UPDATE discrepancy SET last_run_id = $2, last_seen_at = clock_now() WHERE identity = ANY ($1::text[])';

export type NewCounts = Partial<Record<DiscrepancyClass, number>>;

/** Stores what a page came to. Gives how many of each class this run had not found before. */
export async function storeFindings(
  tx: Tx,
  findings: readonly Finding[],
  { destination, runId, owner, begunAt }: StoreOptions & { begunAt: Date },
): Promise<NewCounts> {
  const byIdentity = new Map<string, Finding>();
  for (const finding of findings) {
    const identity = identityOf(destination, finding);
    byIdentity.set(identity, joined(byIdentity.get(identity), finding));
  }
  if (byIdentity.size === 0) return {};
  // In one order, so that two processes do not wait for each other.
  const sorted = [...byIdentity].sort(([one], [other]) => (one < other ? -1 : 1));
  const identities = sorted.map(([identity]) => identity);
  const rows = await tx.sql<KnownRow>('reconciler.known', knownSql, [identities]);
  const known = new Map(rows.map((row) => [row.identity, row]));
  const met = sorted.map(([identity, finding]) => meet(identity, finding, { known: known.get(identity), runId }));
  const accepted = met.filter(({ isCovered }) => isCovered).map(({ identity }) => identity);
  const others = met.filter(({ isCovered }) => !isCovered).map(({ identity, finding }) => toRow(identity, finding, owner));
  if (accepted.length > 0) await tx.sql('reconciler.seen_again', seenAgainSql, [accepted, runId]);
  if (others.length > 0) await tx.sql('reconciler.store', storeSql, [JSON.stringify(others), destination, runId, begunAt]);
  const counts: NewCounts = {};
  for (const { finding, isNew } of met) {
    if (isNew) counts[finding.class] = (counts[finding.class] ?? 0) + 1;
  }
  return counts;
}

interface Met {
  identity: string;
  finding: Finding;
  /** Somebody accepted just this. */
  isCovered: boolean;
  /** This run had not found it before, or only as what was accepted. */
  isNew: boolean;
}

function meet(identity: string, found: Finding, { known, runId }: { known: KnownRow | undefined; runId: string }): Met {
  const isAgain = known?.last_run_id === runId;
  const wasAccepted = known?.state === 'accepted';
  const isCovered = wasAccepted && isAccepted(known, found);
  // Another page of the run may have another lead of the person: what differs is what differs from any of them.
  const fields = isAgain ? [...new Set([...known.fields, ...(found.fields ?? [])])].sort() : found.fields;
  return { identity, finding: { ...found, fields }, isCovered, isNew: !isAgain || (wasAccepted && !isCovered) };
}

function toRow(identity: string, finding: Finding, owner: string | undefined): Record<string, unknown> {
  const policy = policyOf(finding.class, finding.aspect);
  return {
    identity,
    organization: finding.organization,
    event_id: finding.eventId,
    lead_ref: finding.leadRef,
    kind: finding.kind,
    operation_key: finding.operationKey,
    ref: finding.ref,
    class: finding.class,
    aspect: finding.aspect,
    fields: finding.fields ?? [],
    evidence: finding.evidence,
    urgency: policy.urgency,
    owner: owner ?? policy.owner,
    repair: finding.repair,
    at_ms: finding.atMs,
  };
}

const goneSql = `
UPDATE discrepancy d SET state = 'gone', changed_at = clock_now()
FROM json_to_recordset($2::json) AS i("eventId" uuid, kind text, names text[])
WHERE d.destination = $1 AND d.event_id = i."eventId" AND d.class = ANY ($3::text[]) AND d.state IN ('open', 'repair_failed') AND d.last_run_id <> $4
  AND (i.names IS NULL OR (d.kind IS NOT DISTINCT FROM i.kind AND d.class || coalesce('/' || d.aspect, '') = ANY (i.names)))`;

export interface Gone {
  destination: string;
  runId: string;
  judged: readonly Judged[];
  classes: readonly DiscrepancyClass[];
}

/** Those that this run, having decided about them, did not find again. */
export async function closeGone(tx: Tx, { destination, runId, judged, classes }: Gone): Promise<void> {
  if (judged.length > 0) await tx.sql('reconciler.gone', goneSql, [destination, JSON.stringify(judged), classes, runId]);
}

const goneWindowSql = `
UPDATE discrepancy SET state = 'gone', changed_at = clock_now()
WHERE destination = $1 AND at >= $2 AND at < $3 AND class = ANY ($4::text[]) AND state IN ('open', 'repair_failed') AND last_run_id <> $5
  AND kind = $6`;

export interface GoneWindow {
  destination: string;
  runId: string;
  kind: string;
  from: Date;
  to: Date;
  classes: readonly DiscrepancyClass[];
}

/** Those of records of a kind in a window that this run, having read all its changes, did not find again. */
export async function closeGoneWindow(tx: Tx, { destination, runId, kind, from, to, classes }: GoneWindow): Promise<void> {
  await tx.sql('reconciler.gone_window', goneWindowSql, [destination, from, to, classes, runId, kind]);
}
