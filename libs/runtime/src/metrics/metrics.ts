import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Holds every metric of this process; what it exposes is /metrics. */
export const registry = new Registry();

const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
  new Counter<L>({ name, help, labelNames, registers: [registry] });

/** Without a sample until it is set: a process that has no outbox must not report an empty one. */
const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) => {
  const created = new Gauge<L>({ name, help, labelNames, registers: [registry] });
  if (labelNames.length === 0) created.remove();
  return created;
};

const histogram = <L extends string>(name: string, help: string, { buckets, labelNames = [] }: { buckets: number[]; labelNames?: L[] }) =>
  new Histogram<L>({ name, help, labelNames, buckets, registers: [registry] });

const callSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** From half a second to a day: a lead may wait for its destination. */
const journeySeconds = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];
/** OpenTelemetry's advised buckets for messaging durations. */
const messagingSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/**
 * Every metric of the product, in one table. Labels are names from the configuration or from a fixed list, never ids and never text
 * that a caller chose. Test leads are left out by whoever counts.
 */
export const metrics = {
  // intake
  intakeRequests: counter('leads_intake_requests_total', 'Leads handed in, by outcome.', ['source', 'outcome']),
  intakeDuration: histogram('leads_intake_duration_seconds', 'Time to an answer (http) or a settled record (kafka).', {
    buckets: callSeconds,
    labelNames: ['door'],
  }),
  intakeRejected: counter('leads_intake_rejected_total', 'Records of the topic leads stored as rejected, by failure class.', ['reason']),
  authFailures: counter('leads_auth_failures_total', 'Requests without a valid source key; source is "unknown" where no key fits.', [
    'source',
  ]),
  vaultReads: counter('leads_vault_reads_total', 'Leads read from the vault, by status.', ['caller', 'status']),
  statusQueries: counter('leads_status_queries_total', 'Lead status asked of an owning service, by answer.', ['service', 'outcome']),

  // outbox and relay
  outboxPending: gauge('leads_outbox_pending', 'Outbox rows not yet published.'),
  outboxOldestAge: gauge('leads_outbox_oldest_age_seconds', 'Age of the oldest outbox row not yet published.'),
  outboxParked: gauge('leads_outbox_parked', 'Outbox rows that Kafka will never take; each needs a person.'),
  relayPublish: histogram('leads_relay_publish_seconds', 'Duration of one publish request.', { buckets: callSeconds }),
  relayPublished: counter('leads_relay_published_total', 'Outbox rows published.', ['topic']),
  relayRefusals: counter(
    'leads_relay_refusals_total',
    'Requests to publish, or about the partitions to publish to, that were refused or failed.',
    ['topic', 'reason'],
  ),
  relayStopped: gauge('leads_relay_stopped', '1 while publishing to the topic is stopped because Kafka refuses or does not answer.', [
    'topic',
  ]),

  // consumer
  messagesConsumed: counter('messaging_client_consumed_messages_total', 'Records fetched.', ['group', 'topic']),
  messagesSent: counter('messaging_client_sent_messages_total', 'Records acknowledged by Kafka.', ['topic']),
  processDuration: histogram('messaging_process_duration_seconds', 'From fetch to settled.', {
    buckets: messagingSeconds,
    labelNames: ['group'],
  }),
  decodeFailures: counter('leads_decode_failures_total', 'Records that could not be decoded.', ['group', 'reason']),
  consumerUnsettled: gauge('leads_consumer_unsettled', 'Records fetched and not yet settled.', ['group']),
  consumerPaused: gauge('leads_consumer_paused', '1 while the group is paused for this reason.', ['group', 'reason']),
  consumerGapRecords: counter('leads_consumer_gap_records_total', 'Records that retention removed before the group had read them.', [
    'group',
    'topic',
  ]),
  consumerRestarts: counter('leads_consumer_restarts_total', 'Consumers rebuilt after a crash.', ['group']),
  retryOverdue: histogram('leads_retry_overdue_seconds', 'How long after its due time a tier handed a record on.', {
    buckets: callSeconds,
    labelNames: ['tier'],
  }),

  // delivery engine
  inboxDuplicates: counter('leads_inbox_duplicates_total', 'Records that met a live lease or a finished row.', ['consumer']),
  attempts: counter('leads_attempts_total', 'Calls of a destination, by outcome; test leads included.', [
    'destination',
    'outcome',
    'error_class',
  ]),
  attemptDuration: histogram('leads_attempt_duration_seconds', 'Duration of one call of a destination; test leads included.', {
    buckets: callSeconds,
    labelNames: ['destination'],
  }),
  attemptsPerLead: histogram('leads_attempts_per_lead', 'Attempts of a delivery when it ended.', {
    buckets: [1, 2, 3, 4, 6, 10, 20],
    labelNames: ['destination'],
  }),
  e2e: histogram('leads_e2e_seconds', 'From submitted_at to delivered; without what a person had sent again.', {
    buckets: journeySeconds,
    labelNames: ['destination'],
  }),
  crmResponses: counter('leads_crm_responses_total', 'Answers of a destination: 2xx, 4xx, 5xx or none; test leads included.', [
    'destination',
    'status_class',
  ]),
  deliveriesInFlight: gauge('leads_deliveries_in_flight', 'Calls under way.', ['destination']),
  deliveries: gauge('leads_deliveries', 'Unfinished deliveries by state, without those of test leads.', ['destination', 'state']),
  deliveryOldestAge: gauge(
    'leads_delivery_oldest_age_seconds',
    'Age since submission of the oldest delivery that is pending, waiting, held or uncertain; without approved replays and corrections.',
    ['destination', 'state'],
  ),
  orphaned: gauge(
    'leads_deliveries_orphaned',
    'Open deliveries of destinations that the site file does not have; they end at their deadline.',
    ['destination'],
  ),
  circuitOpen: gauge(
    'leads_circuit_open',
    '1 while a destination fails, throttles or refuses us, and only probes are sent. `reason`: failing, throttled or auth.',
    ['destination', 'reason'],
  ),
  destinationStateUnknown: gauge(
    'leads_destination_state_unknown',
    '1 while this process cannot read how the destination stands, and sends nothing to it.',
    ['destination'],
  ),
  destinationHeld: gauge('leads_destination_held', '1 while a person holds the destination.', ['destination']),
  destinationBlocks: counter('leads_destination_blocks_total', 'Times this process stopped sending, by reason.', ['destination', 'reason']),
  destinationProbes: counter('leads_destination_probes_total', 'Probes of blocked destinations, by what came of them.', [
    'destination',
    'result',
  ]),
  requestsDenied: counter('leads_requests_denied_total', 'Calls put off because retry budget or quota were used up.', [
    'destination',
    'reason',
  ]),
  replaysRefused: counter('leads_replays_refused_total', 'Replayed records that were not applied, by the reason.', ['destination', 'code']),
  leasesLost: counter('leads_leases_lost_total', 'Deliveries whose lease another process took.', ['destination']),
  sweeperWakeups: counter('leads_sweeper_wakeups_total', 'Deliveries woken by the sweeper.', ['reason']),
  lookups: counter('leads_lookups_total', 'Lookups of uncertain operations, by what they found.', ['destination', 'outcome']),
  vaultUnavailable: counter('leads_vault_unavailable_total', 'Batches put back because the vault did not answer.', ['destination']),

  // notifier
  notifications: counter('leads_notifications_total', 'Notifications by outcome; of test leads only that nobody is told of them.', [
    'channel',
    'outcome',
  ]),

  // operator
  deadLetters: counter('leads_dead_letters_total', 'Dead letters stored, by destination and failure class; without test leads.', [
    'destination',
    'error_class',
  ]),
  ownerNotices: counter('leads_owner_notices_total', 'Messages about new dead letters to their owners, by outcome.', ['owner', 'outcome']),
  deadLettersOpen: gauge('leads_dead_letters_open', 'Dead letters that wait for a decision.', ['destination', 'error_class']),
  deadLettersOverdue: gauge('leads_dead_letters_overdue', 'Open dead letters past the time by which somebody should have looked.', [
    'destination',
    'error_class',
  ]),
  deadLetterOldestAge: gauge(
    'leads_dead_letter_oldest_age_seconds',
    'Age of the oldest open dead letter, since submitted or handed_over.',
    ['destination', 'error_class', 'since'],
  ),
  deadLettersRecovered: counter(
    'leads_dead_letters_recovered_total',
    'Dead letters that never arrived and were fetched from their owner.',
    ['service'],
  ),
  deadLetterCheckedAt: gauge('leads_dead_letter_check_timestamp_seconds', 'When the unresolved of a service were last compared whole.', [
    'service',
  ]),
  replayItems: counter('leads_replay_items_total', 'Approved items, by what they came to.', ['outcome']),
  replayBatchesHalted: gauge(
    'leads_replay_batches_halted',
    'Replay batches that are paused, or were stopped within a day, by a rule and not by a person; reason is the code of the rule.',
    ['state', 'reason'],
  ),
  erasureTasksOverdue: gauge(
    'leads_erasure_tasks_overdue',
    'Records that approved erasures leave at a destination and that nobody has deleted there in time.',
    ['destination'],
  ),

  // reconciler
  discrepanciesFound: counter('leads_discrepancies_found_total', 'Discrepancies that a comparison found, each time anew.', [
    'destination',
    'class',
  ]),
  discrepanciesOpen: gauge('leads_discrepancies_open', 'Discrepancies that wait for a decision or a repair.', ['destination', 'class']),
  reconciledAt: gauge('leads_reconciled_timestamp_seconds', 'When a destination was last compared to the end.', ['destination']),
  balanceDifference: gauge('leads_balance_difference', 'Deliveries of the last 8 days that are found nowhere, or not whole.', [
    'source',
    'destination',
  ]),
  balanceReceivedDifference: gauge('leads_balance_received_difference', 'Days of a source on which what was received does not add up.', [
    'source',
  ]),
  balanced: gauge('leads_balanced', '1 where the last balance found every accepted delivery in one place.'),
  balanceTakenAt: gauge('leads_balance_timestamp_seconds', 'When the balance was last taken.'),

  // lag exporter (reconciler); names and labels of kafka_exporter, so that public dashboards fit
  groupLag: gauge('kafka_consumergroup_lag', 'Records behind; -1 where nothing is committed.', ['consumergroup', 'topic', 'partition']),
  groupOffset: gauge('kafka_consumergroup_current_offset', 'Committed offset.', ['consumergroup', 'topic', 'partition']),
  groupMembers: gauge('kafka_consumergroup_members', 'Members of the group.', ['consumergroup']),
  topicOffset: gauge('kafka_topic_partition_current_offset', 'End of the partition.', ['topic', 'partition']),
  topicOldestOffset: gauge('kafka_topic_partition_oldest_offset', 'Start of the partition.', ['topic', 'partition']),
  groupLagSeconds: gauge('kafka_consumergroup_group_lag_seconds', 'Age of the next record to be read; 0 where there is none.', [
    'group',
    'topic',
    'partition',
  ]),
  tierOverdue: gauge('leads_tier_overdue_seconds', 'Age of the next record of a retry tier beyond the delay of that tier.', [
    'group',
    'tier',
  ]),
  lagExportedAt: gauge('leads_lag_export_last_success_timestamp_seconds', 'When lag was last read whole.'),

  // every process
  internalRequests: counter('leads_internal_requests_total', 'Internal API requests by caller and status.', ['route', 'caller', 'status']),
  databaseUnavailable: counter('leads_database_unavailable_total', 'Statements that found PostgreSQL gone or too slow.', ['code']),
  listenReconnects: counter('leads_listen_reconnects_total', 'LISTEN connections opened again.'),
  pgPool: gauge('leads_pg_pool_connections', 'Connections of the pool by state.', ['state']),
  pgPoolWaiting: gauge('leads_pg_pool_waiting', 'Callers waiting for a connection.'),
} as const;
