import { type Announcement, type CourseDelivery, type CourseRefusal, headers, type LeadCourse, longestVaultMs } from '#contracts';
import type { Codec } from '#messaging';
import type { Database, Sql } from '#runtime';
import { submissionRef } from '../submission-ref.js';

interface Row extends Omit<LeadCourse, 'vault' | 'deliveries' | 'notifications' | 'refusals' | 'announcement' | 'superseded_by'> {
  vault: LeadCourse['vault'] | null;
  deliveries: CourseDelivery[] | null;
  notifications: LeadCourse['notifications'] | null;
  refusals: CourseRefusal[] | null;
}

const iso = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const refusalJson = `json_build_object('rejected_id', r.rejected_id, 'class', r.class, 'code', r.code, 'rejected_at', ${iso('r.rejected_at')},
  'topic', r.topic, 'partition', r.partition, 'offset', r.record_offset::text, 'errors', r.errors) order by r.rejected_at`;

/** $2: the keyed hash of the submission id, which alone says what was refused under the same one. */
const leadSql = `
select l.event_id, l.lead_ref, l.organization, l.source, l.form, l.campaign, l.policy, l.owner, l.test,
  ${iso('l.submitted_at')} as submitted_at, ${iso('l.accepted_at')} as accepted_at, ${iso('l.deadline_at')} as deadline_at,
  substr(l.traceparent, 4, 32) as trace_id, (
    select k.event_id from intake_key k where k.organization = l.organization and k.source = l.source and k.external_ref = l.supersedes_ref
  ) as supersedes, (
    select json_build_object('state', 'kept', 'revision', max(v.revision), 'consent_withdrawn_at', ${iso('min(v.consent_withdrawn_at)')},
      'delete_after', ${iso("(max(v.delete_after) - $3 * interval '1 millisecond')")})
    from vault v where v.lead_ref = l.lead_ref and v.sealed <> '' having count(*) > 0
  ) as vault, l.record_key = '' as erased, (
    select json_agg(json_strip_nulls(json_build_object('destination', d.destination, 'state', d.state, 'class', d.class, 'code', d.code,
      'owner', d.owner, 'generation', d.generation, 'operations', d.operations, 'as_of', ${iso('d.as_of')}, 'claimed_at', ${iso('d.claimed_at')},
      'announcements', d.announcements, 'announced_at', ${iso('d.announced_at')})) order by d.destination)
    from delivery d where d.event_id = l.event_id
  ) as deliveries, (
    select t.notifications from told t where t.event_id = l.event_id
  ) as notifications, (
    select json_agg(${refusalJson}) from rejected r where r.organization = l.organization and r.source = l.source and r.external_ref = $2
  ) as refusals
from lead l where l.event_id = $1`;

const refusalSql = `
select r.rejected_id as event_id, null as lead_ref, r.organization, r.source, null as form, null as campaign, null as policy, null as owner,
  false as test, null as submitted_at, null as accepted_at, null as deadline_at, null as trace_id, null as supersedes, null as vault, false as erased,
  null as deliveries, null as notifications, json_agg(${refusalJson}) as refusals
from rejected r where r.rejected_id = $1 and r.organization is not null and r.source is not null group by r.rejected_id`;

/** Published rows are gone, so what stands in neither table was announced. The outbox is read through: it is short, or nothing else matters. */
const announcementSql = `
select case when exists (select from outbox where headers ->> '${headers.eventId}' = $1) then 'in_outbox'
  when exists (select from outbox_parked where headers ->> '${headers.eventId}' = $1) then 'parked' else 'announced' end as announcement`;

const supersededSql = `
select event_id from lead where organization = $1 and source = $2 and supersedes_ref = $3 order by event_id limit 20`;

export interface CourseTools {
  db: Database;
  codec: Pick<Codec, 'decode'>;
  /** How long the site keeps payloads. Default: the longest. */
  vaultMs?: number;
}

/** Everything that intake knows of one lead, or of a refusal by its id; undefined where it knows neither. Throws DatabaseUnavailable. */
export async function leadCourse(tools: CourseTools, eventId: string): Promise<LeadCourse | undefined> {
  const { db } = tools;
  const [known] = await db.sql<{ event: Buffer }>('intake.course_event', 'select event from lead where event_id = $1', [eventId]);
  const ref = known && (await submissionRef(tools.codec, known.event));
  const [row] =
    known === undefined
      ? await db.sql<Row>('intake.course_refusal', refusalSql, [eventId])
      : await db.sql<Row>('intake.course', leadSql, [eventId, ref ?? null, longestVaultMs - (tools.vaultMs ?? longestVaultMs)]);
  if (row === undefined) return undefined;
  return {
    ...row,
    vault: row.vault ?? { state: 'gone', revision: 0, consent_withdrawn_at: null, delete_after: null },
    announcement: known === undefined ? null : await announcementOf(db, row),
    superseded_by: ref === undefined ? [] : await supersededBy(db, row, ref),
    deliveries: row.deliveries ?? [],
    notifications: row.notifications ?? [],
    refusals: row.refusals ?? [],
  };
}

/** What its owner has claimed was announced; only for the rest the outbox is read. */
async function announcementOf(db: Sql, { event_id, deliveries }: Row): Promise<Announcement> {
  const unclaimed = (deliveries ?? []).filter(({ state, claimed_at }) => state === 'accepted' && claimed_at === undefined);
  if (unclaimed.length === 0) return 'announced';
  const [row] = await db.sql<{ announcement: Announcement }>('intake.course_announcement', announcementSql, [event_id]);
  return row?.announcement ?? 'announced';
}

async function supersededBy(db: Sql, { organization, source }: Row, ref: string): Promise<string[]> {
  const rows = await db.sql<{ event_id: string }>('intake.superseded_by', supersededSql, [organization, source, ref]);
  return rows.map(({ event_id }) => event_id);
}
