import { v5 } from 'uuid';
import {
  headers,
  type IntakeEraseAnswer,
  type LeadAccepted,
  LeadAcceptedEvent,
  LeadResolvedEvent,
  resolutionName,
  resolutionNamespace,
  type SubjectLead,
  topics,
  unrouted,
} from '#contracts';
import { type Codec, insertOutbox, type OutboxRow } from '#messaging';
import type { Database, KeyRing, Tx } from '#runtime';
import { deadWithoutOwner } from '../unrouted-records.js';
import { countPlaces, ofLeadsSql } from './count-places.js';
import { type SubjectRow, withPerson } from './whole-person.js';

/** Stands in place of a fingerprint: whatever still comes under this id is a repeat, and nothing of it is kept. */
const erasedFingerprint = 'erased';

/**
 * Waits for corrections that are being written, so that the statement after it finds them; those that come later find nothing to correct. What is
 * pending comes first, as where it is activated: neither waits for the other in turn.
 */
const lockSql = (table: 'pending_revision' | 'vault'): string => `
with ${ofLeadsSql}
select 1 from ${table} where lead_ref in (select lead_ref from keyed) order by lead_ref, revision for update`;

/**
 * The key stays, so that a late repeat is known as one. Of a refused record its place in the topic stays, so that reading it again stores
 * nothing; the record itself goes. `record_key` is the person's keyed hash; nothing is announced of the lead any more.
 */
const eraseSql = `
with ${ofLeadsSql}, vaulted as (
  delete from vault where lead_ref in (select lead_ref from keyed)
), pending as (
  delete from pending_revision where lead_ref in (select lead_ref from keyed)
), rejections as (
  update rejected set sealed = '', wrapped_key = '', email_key = null, phone_key = null
  where rejected_id in (select rejected_id from refused) and sealed <> ''
), hashes as (
  update lead set email_key = null, phone_key = null, record_key = ''
  where event_id in (select id from asked) and (email_key is not null or phone_key is not null or record_key <> '')
)
update intake_key k set fingerprint = '${erasedFingerprint}' from keyed
where k.organization = keyed.organization and k.source = keyed.source and k.external_ref = keyed.external_ref
  and k.fingerprint <> '${erasedFingerprint}'`;

/**
 * Waits for items that decide on these refusals at this moment; one that comes later finds nothing to decide on. Says what they became, of those
 * asked for alone: a refusal under the id of a lead may be somebody else's.
 */
const acceptedSql = `
with ${ofLeadsSql}, locked as (
  select rejected_id, accepted_as from rejected where rejected_id in (select rejected_id from refused) order by rejected_id for update
)
select accepted_as from locked where rejected_id in (select id from asked) and accepted_as is not null`;

const keyedSql = `
with ${ofLeadsSql}
select event_id, lead_ref, organization, source from keyed`;

/** Deliveries that intake keeps itself: without a route, or to a destination that nobody serves any more. */
const endSql = `
update delivery d set state = 'erased', class = null, code = null, as_of = clock_now()
from lead l
where l.event_id = d.event_id and d.event_id = any ($1::uuid[]) and d.state = 'dead' and d.class = 'routing' and d.claimed_at is null
returning d.event_id, d.destination, d.as_of, l.event`;

export interface EraseTools {
  db: Database;
  ring: KeyRing;
  codec: Pick<Codec, 'encode' | 'decode'>;
  relayWake: () => void;
}

interface Ended {
  event_id: string;
  destination: string;
  as_of: Date;
  event: Buffer;
}

/**
 * Destroys what intake keeps of leads and refusals, in one transaction, and says what is left. To repeat it changes nothing. What was announced and
 * not claimed yet ends `erased` at its owner, which finds nothing in the vault. A lead that one of the refusals became is named in the answer, with
 * its person, and stays until it is asked for as well: whoever asks can note it first. Throws DatabaseUnavailable, RegistryUnavailable.
 */
export async function eraseLeads(tools: EraseTools, eventIds: readonly string[]): Promise<IntakeEraseAnswer> {
  const { db, codec, relayWake } = tools;
  const { ended, leads } = await db.transaction(async (tx) => {
    const became = await becameLeads(tx, tools, eventIds);
    for (const table of ['pending_revision', 'vault'] as const) await tx.sql(`intake.erase_lock_${table}`, lockSql(table), [eventIds]);
    await tx.sql('intake.erase', eraseSql, [eventIds]);
    return { ended: await endOwn(tx, codec, eventIds), leads: became };
  });
  if (ended > 0) relayWake();
  return { places: await countPlaces(db, eventIds), leads };
}

async function becameLeads(tx: Tx, { ring }: EraseTools, eventIds: readonly string[]): Promise<SubjectLead[]> {
  const accepted = await tx.sql<{ accepted_as: string }>('intake.erase_accepted', acceptedSql, [eventIds]);
  const others = new Set(accepted.map(({ accepted_as }) => accepted_as));
  for (const id of eventIds) others.delete(id);
  if (others.size === 0) return [];
  const rows = await tx.sql<SubjectRow>('intake.erase_became', keyedSql, [[...eventIds, ...others]]);
  // With all of them, so that a lead that goes in the same call keeps nothing of the person.
  return (await withPerson({ db: tx, ring }, rows)).filter(({ event_id }) => others.has(event_id));
}

async function endOwn(tx: Tx, codec: EraseTools['codec'], eventIds: readonly string[]): Promise<number> {
  const ended = await tx.sql<Ended>('intake.erase_own', endSql, [eventIds]);
  const rows: OutboxRow[] = [];
  for (const one of ended) rows.push(resolvedRow(codec, await codec.decode(LeadAcceptedEvent, one.event), one));
  await insertOutbox(tx, rows);
  return ended.length;
}

/** Without the key of the person, which is gone: nobody else speaks of this delivery, so that no order is lost. */
function resolvedRow(codec: EraseTools['codec'], event: LeadAccepted, { destination, as_of: resolvedAt }: Ended): OutboxRow {
  const dead = deadWithoutOwner(event, { destination, primary: destination === unrouted, code: 'erased', resolvedAt });
  const name = resolutionName(event.event_id, destination, { generation: 1, state: 'erased' });
  const resolved = { ...dead, resolution_id: v5(name, resolutionNamespace), outcome: 'erased', error_class: null, error_code: null };
  return {
    topic: topics.leadResolved,
    key: Buffer.from(event.lead_ref),
    value: codec.encode(LeadResolvedEvent, resolved),
    headers: { [headers.eventId]: event.event_id, [headers.destinations]: destination },
  };
}
