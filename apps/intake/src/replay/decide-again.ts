import { type LeadSubmitted, LeadSubmittedEvent } from '#contracts';
import { type Codec, DecodeError, type ReadResult } from '#messaging';
import { type Database, SealError, type Sql, type TraceContext, unseal } from '#runtime';
import { type Acceptance, type AcceptTools, acceptLeads } from '../accept-leads.js';
import { DatabaseClock } from '../database-clock.js';
import { type ReadRecord, type Refused, readRecord } from '../kafka/read-record.js';
import { personOf, refusalOf } from '../kafka/refusal-of.js';
import { planDeliveries } from '../plan-deliveries.js';
import { searchKey } from '../search/contact-keys.js';
import type { Submission } from '../submission/normalise.js';
import { rejectedAad } from '../vault/vault-aad.js';
import { type ApprovedItem, type Decision, noteItem } from './item.js';

export interface DecideTools extends Omit<AcceptTools, 'db' | 'codec' | 'relayWake'> {
  db: Database;
  codec: Pick<Codec, 'encode' | 'decode'>;
}

interface RefusedRow {
  record_at: Date;
  key_id: string;
  wrapped_key: Buffer;
  sealed: Buffer;
}

const readSql = `
select record_at, key_id, wrapped_key, sealed from rejected where rejected_id = $1 and accepted_as is null and sealed <> ''`;
const lockSql = `select 1 from rejected where rejected_id = $1 and accepted_as is null and sealed <> '' for update`;

/** What is known now of where the record came from, and who it is about, so that an erasure finds it. */
const updateSql = `
update rejected set attempts = attempts + 1, class = coalesce($2, class), code = coalesce($3, code), errors = coalesce($4, errors),
  event_id = coalesce($5, event_id), accepted_as = $6, organization = coalesce($7, organization), source = coalesce($8, source),
  external_ref = coalesce($9, external_ref), email_key = coalesce($10, email_key), phone_key = coalesce($11, phone_key)
where rejected_id = $1`;

/** PostgreSQL does not take the row, or it must not stay: the transaction is lost, and what is to be said of it needs another. */
class NotStored extends Error {
  override readonly name = 'NotStored';
  constructor(readonly refused: Refused) {
    super('A lead could not be stored');
  }
}

/**
 * Decides on a refused record once more, from its sealed bytes, by the sources and rules of now. Valid now: accepted like any other, in the
 * transaction that notes the item, unless the same submission was accepted meanwhile, which is as good. Undefined where the record is accepted
 * already or kept no more. Throws ItemKnown, RegistryUnavailable, DatabaseUnavailable, StatementFailed.
 */
export async function decideAgain(tools: DecideTools, item: ApprovedItem, trace: TraceContext): Promise<Decision | undefined> {
  const { db } = tools;
  const [row] = await db.sql<RefusedRow>('intake.read_refused', readSql, [item.eventId]);
  if (row === undefined) return undefined;
  const read = await readAgain(tools, item, row);
  try {
    return await db.transaction((tx) => decide(tx, tools, { item, read, row, trace }));
  } catch (error) {
    if (!(error instanceof NotStored)) throw error;
    const { refused } = error;
    return db.transaction(async (tx) => ((await isLocked(tx, item)) ? refuse(tx, item, refused) : undefined));
  }
}

async function isLocked(tx: Sql, { eventId }: ApprovedItem): Promise<boolean> {
  return (await tx.sql('intake.lock_refused', lockSql, [eventId])).length > 0;
}

interface Again {
  item: ApprovedItem;
  read: ReadRecord;
  row: RefusedRow;
  trace: TraceContext;
}

async function decide(tx: Sql, tools: DecideTools, { item, read, row, trace }: Again): Promise<Decision | undefined> {
  if (!(await isLocked(tx, item))) return undefined;
  if (!('submission' in read)) return refuse(tx, item, read);
  const submission = { ...read.submission, submittedAt: read.submission.submittedAt ?? row.record_at };
  // The clock too: another connection might not come before this one is given back.
  const clock = new DatabaseClock(tx);
  const inTx = { ...tools, db: tx, clock, relayWake: () => {} };
  const [answer] = await acceptLeads(inTx, [{ submission, trace, deadlineAt: item.deadlineAt, repeatWithdraws: true }]);
  const refused = refusalOf(read, answer);
  const keys = personOf(tools.hmacs, read);
  if (answer?.kind === 'accepted' && (await isTooOld(inTx, submission)))
    throw new NotStored({ ...tooOld(), source: read.source, externalRef: read.externalRef, keys });
  if (refused === undefined) return accept(tx, item, { read, keys, answer: answer as Accepted });
  // A row that PostgreSQL refused has ended the transaction with it.
  if (refused.class === 'invalid') throw new NotStored({ ...refused, keys });
  return refuse(tx, item, { ...refused, keys });
}

/** What it says itself is known only now; the dry run went by the time of the record. */
async function isTooOld(
  { clock, site }: Pick<DecideTools, 'clock' | 'site'>,
  submission: Submission & { submittedAt: Date },
): Promise<boolean> {
  const { maxAgeMs } = planDeliveries(site, submission).policy;
  return (await clock.now()).getTime() - submission.submittedAt.getTime() > maxAgeMs;
}

const tooOld = (): Refused => ({
  class: 'deadline_exceeded',
  code: 'max_age_passed',
  errors: [
    {
      field: 'submitted_at',
      problem: 'is longer ago than max_age of the policy of its route',
      fix: 'Close the letter, or make max_age longer and approve it again.',
    },
  ],
});

type Accepted = Extract<Acceptance, { leadRef: string }>;

async function accept(
  tx: Sql,
  item: ApprovedItem,
  { read, keys, answer }: { read: Refused | { source: Refused['source']; externalRef: string }; keys: Refused['keys']; answer: Accepted },
): Promise<Decision> {
  const { eventId } = answer;
  const decision: Decision = { outcome: 'done', ref: eventId, code: answer.kind === 'accepted' ? 'accepted' : 'accepted_before' };
  await noteItem(tx, item, decision);
  await update(tx, item, { source: read.source, externalRef: read.externalRef, keys, eventId, acceptedAs: eventId });
  return decision;
}

async function refuse(tx: Sql, item: ApprovedItem, refused: Refused): Promise<Decision> {
  const decision: Decision = { outcome: 'failed', class: refused.class, code: refused.code };
  await noteItem(tx, item, decision);
  await update(tx, item, refused);
  return decision;
}

async function update(tx: Sql, item: ApprovedItem, now: Partial<Refused> & { acceptedAs?: string }): Promise<void> {
  const { class: failure, code, errors, eventId, acceptedAs, source, externalRef, keys } = now;
  const why = [failure, code, errors && JSON.stringify(errors), eventId, acceptedAs];
  const whose = [source?.organization, source?.id, externalRef, searchKey(keys?.email), searchKey(keys?.phone)];
  await tx.sql('intake.update_refused', updateSql, [item.eventId, ...[...why, ...whose].map((value) => value ?? null)]);
}

async function readAgain(tools: DecideTools, { eventId }: ApprovedItem, row: RefusedRow): Promise<ReadRecord> {
  let original: Buffer;
  try {
    const sealed = { keyId: row.key_id, wrappedKey: row.wrapped_key, sealed: row.sealed };
    original = unseal(tools.ring, sealed, rejectedAad(eventId));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    const fix = 'Put the key back into keyring.json and approve the record again.';
    return { class: 'decode', code: 'unreadable_seal', errors: [{ field: 'record', problem: 'is sealed with a key that is gone', fix }] };
  }
  const { value } = JSON.parse(original.toString('utf8')) as { value: string | null };
  return readRecord(tools, await resultOf(tools.codec, value === null ? null : Buffer.from(value, 'base64')));
}

async function resultOf(codec: Pick<Codec, 'decode'>, value: Buffer | null): Promise<ReadResult<LeadSubmitted>> {
  try {
    return { ok: true, event: await codec.decode(LeadSubmittedEvent, value) };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { ok: false, reason: error.reason, detail: error.message };
  }
}
