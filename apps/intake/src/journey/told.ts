import type { Sql } from '#runtime';
import type { JourneyNotification } from './journey.js';

/** A notification with the time at which its owner said so. */
export type HeardNotification = JourneyNotification & { as_of: string };

/** Writes only what is news: most answers repeat the one before. An answer that was overtaken changes nothing. */
const rememberSql = `
insert into told (event_id, notifications, as_of)
select $1::uuid, $2::jsonb, $3::timestamptz
where not exists (select from told where event_id = $1::uuid and (notifications = $2::jsonb or as_of > $3::timestamptz))
on conflict (event_id) do update set notifications = excluded.notifications, as_of = excluded.as_of where told.as_of <= excluded.as_of`;

const lastSql = 'select event_id, notifications, as_of from told where event_id = any ($1::uuid[])';

/**
 * Keeps what the notifier said of one lead, for the times when it cannot be asked; the time kept is the first at which it said just this.
 * Throws DatabaseUnavailable.
 */
export async function rememberTold(db: Sql, eventId: string, heard: readonly HeardNotification[]): Promise<void> {
  if (heard.length === 0) return;
  const asOf = new Date(Math.max(...heard.map(({ as_of }) => Date.parse(as_of))));
  const notifications = heard.map(({ channel, template, state }) => ({ channel, template, state }));
  await db.sql('intake.remember_told', rememberSql, [eventId, JSON.stringify(notifications), asOf]);
}

/** What it said last of each of these leads; empty where nobody asked while it could answer. Throws DatabaseUnavailable. */
export async function lastTold(db: Sql, eventIds: readonly string[]): Promise<HeardNotification[][]> {
  type Row = { event_id: string; notifications: JourneyNotification[]; as_of: Date };
  const rows = await db.sql<Row>('intake.last_told', lastSql, [eventIds]);
  const byId = new Map(rows.map((row) => [row.event_id, row.notifications.map((one) => ({ ...one, as_of: row.as_of.toISOString() }))]));
  return eventIds.map((eventId) => byId.get(eventId.toLowerCase()) ?? []);
}
