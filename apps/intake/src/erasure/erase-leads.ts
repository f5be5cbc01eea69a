import { v5 } from 'uuid';
import {
  headers,
  type IntakeEraseAnswer,
  type LeadAccepted,
  LeadAcceptedEvent,
  LeadResolvedEvent,
  resolutionName,
  resolutionNamespace,
  topics,
  unrouted,
} from '#contracts';
import { type Codec, insertOutbox, type OutboxRow } from '#messaging';
import type { Database, Tx } from '#runtime';
import { deadWithoutOwner } from '../unrouted-records.js';
import { countPlaces, ofLeadsSql } from './count-places.js';

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

/** Deliveries that intake keeps itself: without a route, or to a destination that nobody serves any more. */
const endSql = `
update delivery d set state = 'erased', class = null, code = null, as_of = clock_now()
from lead l
where l.event_id = d.event_id and d.event_id = any ($1::uuid[]) and d.state = 'dead' and d.class = 'routing' and d.claimed_at is null
returning d.event_id, d.destination, d.as_of, l.event`;

export interface EraseTools {
  db: Database;
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
 * not claimed yet ends `erased` at its owner, which finds nothing in the vault. Throws DatabaseUnavailable, RegistryUnavailable.
 */
export async function eraseLeads({ db, codec, relayWake }: EraseTools, eventIds: readonly string[]): Promise<IntakeEraseAnswer> {
  const ended = await db.transaction(async (tx) => {
    for (const table of ['pending_revision', 'vault'] as const) await tx.sql(`intake.erase_lock_${table}`, lockSql(table), [eventIds]);
    await tx.sql('intake.erase', eraseSql, [eventIds]);
    return endOwn(tx, codec, eventIds);
  });
  if (ended > 0) relayWake();
  return { places: await countPlaces(db, eventIds) };
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
