import { z } from 'zod';
import { dispositions } from '#contracts';
import { reasonText } from '#delivery';
import type { Database, Tx } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { refusals } from '../http/refusal.js';
import type { Person } from '../people/person.js';
import { describeTarget, lockTarget, oneTarget, onlyOrganization, type Target, type Targeted, targetFields } from './letter-target.js';

/** Letters of one statement: each has its time limit. */
const chunkSize = 1_000;
export const mostNotes = 100;

export const assignRequest = z
  .strictObject({
    ...targetFields,
    assignee: z.string().trim().max(200).nullable().describe('Subject of a person, as `/v1/me` names it. Empty: nobody.'),
    reason: reasonText.optional(),
  })
  .refine(...oneTarget);
export const noteRequest = z.strictObject({ ...targetFields, text: reasonText.min(1) }).refine(...oneTarget);
export const dispositionRequest = z
  .strictObject({ ...targetFields, disposition: z.enum(dispositions), reason: reasonText.min(1) })
  .refine(...oneTarget);

export const decided = z.object({ letters: z.number().describe('How many letters it is about.') });
export type Decided = z.infer<typeof decided>;

interface Decision {
  action: string;
  /** For the audit. */
  about: object;
  /** Only letters that are open. */
  open: boolean;
  write(tx: Tx, ids: readonly string[]): Promise<unknown>;
}

const assignSql = 'UPDATE dead_letter SET assignee = $2 WHERE dead_letter_id = ANY ($1::uuid[])';
const dispositionSql = 'UPDATE dead_letter SET disposition = $2 WHERE dead_letter_id = ANY ($1::uuid[])';
const noteSql = `
WITH full_letters AS (
  SELECT dead_letter_id FROM letter_note WHERE dead_letter_id = ANY ($1::uuid[]) GROUP BY dead_letter_id HAVING count(*) >= ${mostNotes}
), noted AS (
  INSERT INTO letter_note (dead_letter_id, at, by, text)
  SELECT id, clock_now(), $2, $3 FROM unnest($1::uuid[]) id WHERE NOT EXISTS (SELECT FROM full_letters)
)
SELECT dead_letter_id FROM full_letters`;

/** Says who looks after the letters. Throws refusals, see `lockTarget`; `letter-closed`. */
export function assignLetters(db: Database, request: z.infer<typeof assignRequest>, person: Person): Promise<Decided> {
  const { reason, ...target } = request;
  const assignee = request.assignee === null || request.assignee === '' ? null : request.assignee;
  return decide(
    db,
    { target, person },
    {
      action: 'dead_letter.assign',
      about: { assignee, ...(reason !== undefined && { reason }) },
      open: true,
      write: (tx, ids) => tx.sql('operator.assign_letters', assignSql, [ids, assignee]),
    },
  );
}

/** Writes a note on each of the letters, also on closed ones. Throws refusals, see `lockTarget`; `too-many-notes`. */
export function noteLetters(db: Database, { text, ...target }: z.infer<typeof noteRequest>, person: Person): Promise<Decided> {
  return decide(
    db,
    { target, person },
    {
      action: 'dead_letter.note',
      about: {},
      open: false,
      write: async (tx, ids) => {
        const full = await tx.sql('operator.note_letters', noteSql, [ids, person.subject, text]);
        if (full.length > 0) throw refusals.conflict('too-many-notes', `A letter has ${mostNotes} notes at most`);
      },
    },
  );
}

/** Says what shall become of the letters; nothing is sent by it. Throws refusals, see `lockTarget`; `letter-closed`. */
export function changeDisposition(
  db: Database,
  { disposition, reason, ...target }: z.infer<typeof dispositionRequest>,
  person: Person,
): Promise<Decided> {
  return decide(
    db,
    { target, person },
    {
      action: 'dead_letter.disposition',
      about: { disposition, reason },
      open: true,
      write: (tx, ids) => tx.sql('operator.change_disposition', dispositionSql, [ids, disposition]),
    },
  );
}

/** Writes the decision and its entry in the audit, or neither. */
function decide(db: Database, { target, person }: { target: Target; person: Person }, decision: Decision): Promise<Decided> {
  return db.transaction(async (tx) => {
    const letters = await lockTarget(tx, target, person);
    if (decision.open) refuseClosed(letters);
    for (let at = 0; at < letters.length; at += chunkSize) {
      await decision.write(
        tx,
        letters.slice(at, at + chunkSize).map(({ dead_letter_id }) => dead_letter_id),
      );
    }
    await audit(tx, {
      ...actor(person),
      action: decision.action,
      organization: onlyOrganization(letters),
      subject: { ...describeTarget(target, letters), ...decision.about },
    });
    return { letters: letters.length };
  });
}

function refuseClosed(letters: readonly Targeted[]): void {
  const ids = letters.filter(({ state }) => state !== 'open').map(({ dead_letter_id }) => dead_letter_id);
  if (ids.length > 0) throw refusals.conflict('letter-closed', 'Nobody need decide on it any more', { ids });
}
