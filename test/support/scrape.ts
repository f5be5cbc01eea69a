import { spawnSync } from 'node:child_process';

/** What alerts ask for and no process shows before something has happened: no sample is no trouble there, and an alert on it stays silent. */
export const shownAfter: Readonly<Record<string, string>> = {
  leads_auth_failures_total: 'a request without a valid key',
  leads_balance_timestamp_seconds: 'the first balance, five minutes after the start; its absence is an alert itself',
  leads_balanced: 'the first balance',
  leads_consumer_paused: 'the first pause of a group',
  leads_database_unavailable_total: 'a statement that found PostgreSQL gone; goes on while it is',
  leads_dead_letters_open: 'a dead letter that is open',
  leads_dead_letters_overdue: 'a dead letter that is open',
  leads_dead_letters_total: 'a dead letter; the alert is on twenty',
  leads_deliveries: 'a delivery that is not finished when the sweeper looks',
  leads_deliveries_orphaned: 'a destination that was taken out of the site file',
  leads_delivery_oldest_age_seconds: 'a delivery that is not finished when the sweeper looks',
  leads_discrepancies_open: 'a discrepancy that is open',
  leads_erasure_tasks_overdue: 'a task of an erasure that is open for more than seven days',
  leads_reconciled_timestamp_seconds: 'the end of the first comparison; its absence is an alert itself',
  leads_relay_stopped: 'a topic that Kafka refused',
  leads_replay_batches_halted: 'a replay batch that a rule paused or stopped',
  leads_requests_denied_total: 'a call that was put off',
  leads_sweeper_wakeups_total: 'a delivery that the sweeper woke; the alert is on ten',
};

/** Names of the series that a metrics page has samples of. */
export const sampled = (page: string): string[] => [...new Set([...page.matchAll(/^([a-z]\w*)[{ ]/gm)].map(([, name]) => String(name)))];

/** What promtool finds wrong with a metrics page; undefined where there is no promtool. */
export function pageFaults(page: string): string | undefined {
  const { error, status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: page, encoding: 'utf8' });
  if (error !== undefined) return undefined;
  return status === 0 ? '' : `${stdout}${stderr}` || `ended with ${status}`;
}
