import { finalStates, longestVaultMs } from '#contracts';

/** Rows in one statement: its locks and its share of the disk are over before anybody notices. */
export const purgeBatch = 500;

export interface PurgeJob {
  /** The table whose rows are counted. */
  table: string;
  /** Of the statement. Default: the table. */
  name?: string;
  /** Deletes, or empties, up to `purgeBatch` rows that are over their time and gives one row for each. */
  sql: string;
  values?: readonly unknown[];
}

/** How long intake remembers that a key was used. */
const keyRetention = '400 days';
/** As long as a refused record can be decided on again. */
const itemRetention = '90 days';
/** How long a lead stays readable after its acceptance and the last change of its deliveries, all of them final. Longer than the window of the balance and the horizon of recovery. */
const leadRetention = '40 days';

const byAge = (table: string, due: string): PurgeJob => ({
  table,
  sql: `
delete from ${table} where ctid = any (array(
  select ctid from ${table} where ${due} limit ${purgeBatch} for update skip locked))
returning 1 as purged`,
});

const final = finalStates.map((state) => (state === 'succeeded' ? "'delivered'" : `'${state}'`)).join(', ');

/** The oldest event id of a time, in SQL: a lead is found by its primary key, which is the order of acceptance. */
const firstIdBefore = `(lpad(to_hex((extract(epoch from clock_now() - interval '${leadRetention}') * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid`;

/** A lead that still waits for anything keeps its deliveries and its event, however old it is. */
const leads: PurgeJob = {
  table: 'lead',
  sql: `
with done as materialized (
  select event_id from lead
  where event_id < ${firstIdBefore}
    and not exists (select from delivery d where d.event_id = lead.event_id
      and (d.state not in (${final}) or d.as_of > clock_now() - interval '${leadRetention}'))
  order by event_id limit ${purgeBatch} for update skip locked
), deliveries as (
  delete from delivery where event_id in (select event_id from done)
), told as (
  delete from told where event_id in (select event_id from done)
)
delete from lead where event_id in (select event_id from done) returning 1 as purged`,
};

/** `delete_after` is the outermost time; a site that keeps payloads for a shorter one destroys them that much earlier. */
const vaultDue = `delete_after <= clock_now() + $1 * interval '1 millisecond'`;
const ofLead = '(select from lead where lead.lead_ref = vault.lead_ref)';

/** While the lead is kept, its row stays without the payload: by its keys alone the lead is found, by whoever asks for an erasure, too. */
const emptied: PurgeJob = {
  table: 'vault',
  name: 'emptied_vault',
  sql: `
update vault set sealed = '', wrapped_key = '' where ctid = any (array(
  select ctid from vault where ${vaultDue} and sealed <> '' and exists ${ofLead} limit ${purgeBatch} for update skip locked))
returning 1 as purged`,
};

/** What intake deletes, by table. The outbox empties itself; parked records are for a person to look at. */
export const purgeJobs = (vaultMs: number): readonly PurgeJob[] => [
  ...(vaultMs < longestVaultMs ? [{ ...emptied, values: [longestVaultMs - vaultMs] }] : []),
  { ...byAge('vault', `${vaultDue} and (delete_after <= clock_now() or not exists ${ofLead})`), values: [longestVaultMs - vaultMs] },
  byAge('rejected', 'delete_after <= clock_now()'),
  byAge('pending_revision', 'delete_after <= clock_now()'),
  byAge('intake_key', `accepted_at <= clock_now() - interval '${keyRetention}'`),
  byAge('replay_item', `decided_at <= clock_now() - interval '${itemRetention}'`),
  byAge('received', `day < (clock_now() - interval '${keyRetention}')::date`),
  leads,
];
