import { z } from 'zod';
import type { Sql } from '#runtime';
import { refusals } from '../http/refusal.js';
import { organizationsValue } from '../people/person.js';
import type { Reader } from './letter-filter.js';

export const notesAnswer = z.object({ items: z.array(z.object({ note_id: z.string(), at: z.date(), by: z.string(), text: z.string() })) });
export type NotesAnswer = z.infer<typeof notesAnswer>;

const sql = `
SELECT n.note_id, n.at, n.by, n.text FROM dead_letter d LEFT JOIN letter_note n USING (dead_letter_id)
WHERE d.dead_letter_id = $1 AND ($2::text[] IS NULL OR d.organization = ANY ($2::text[])) ORDER BY n.note_id`;

/** Notes on a letter, the oldest first: they are few. Throws the refusal `not-found`. */
export async function listNotes(db: Sql, deadLetterId: string, reader: Reader): Promise<NotesAnswer> {
  const rows = await db.sql<{ note_id: string | null } & NotesAnswer['items'][number]>('operator.list_notes', sql, [
    deadLetterId,
    organizationsValue(reader),
  ]);
  if (rows.length === 0) throw refusals.notFound();
  return { items: rows.filter(({ note_id }) => note_id !== null) };
}
