/** Topic names and shapes in one table: `leadctl topics apply` creates what stands here, services verify it at start. */
export const topics = {
  leads: 'leads',
  leadAccepted: 'lead.accepted',
  leadResolved: 'lead.resolved',
  /** Rejected and unrouted leads, by reference only. */
  intakeDlq: 'leads.intake.dlq',
  /** Approved items for them: decided, or routed, once more. */
  intakeReplay: 'leads.intake.replay',
} as const;

export const retryTiers = ['15s', '1m', '5m'] as const;
export type RetryTier = (typeof retryTiers)[number];
export const retryTierMs: Record<RetryTier, number> = { '15s': 15_000, '1m': 60_000, '5m': 300_000 };

export const groups = {
  intake: 'intake',
  intakeStates: 'intake.states',
  notifier: 'notifier',
  /** Brings every dead-letter topic into the operator's table. */
  operatorDlq: 'operator.dlq',
  crmWriter: (destination: string): string => `crm-writer.${destination}`,
} as const;

/** The group is in the name because a retry belongs to one consumer. */
export const retryTopic = (topic: string, group: string, tier: RetryTier): string => `${topic}.${group}.retry.${tier}`;
export const dlqTopic = (topic: string, group: string): string => `${topic}.${group}.dlq`;
export const replayTopic = (topic: string, group: string): string => `${topic}.${group}.replay`;

const hour = 3_600_000;
const day = 24 * hour;
const acceptedRetentionMs = 8 * day;

/** A deadline, a policy's or an approval's, may not be longer: `lead.accepted` has to outlive it by 7 days, the horizon of recovery. */
export const longestDeadlineMs = acceptedRetentionMs - 7 * day;

/**
 * From submission to the end of its last approved item: rows of leads, deliveries and operations are kept 40 days, and `lead.accepted` may
 * bring a record back for as long as it keeps it. Sealed payloads are kept longer than either.
 */
export const longestRecoveryMs = 40 * day - acceptedRetentionMs;

/** Sealed payloads are kept this long, as the keys that tell a repeat are; a site may keep payloads for a shorter time. */
export const longestVaultMs = 400 * day;

export interface TopicSpec {
  readonly name: string;
  readonly partitions: number;
  readonly retentionMs: number;
}

/** A group and the topics it must have a committed offset on before its service may start. */
export interface GroupSpec {
  readonly group: string;
  readonly topics: readonly string[];
}

/**
 * The whole topology for a set of destination names. Replication comes from the caller (3 in production, 1 on one broker).
 * `lead.accepted` outlives the longest deadline (4 h by default) by more than 7 days; `leads` carries personal data and is kept 24 h.
 */
export function topology(destinations: readonly string[]): { topics: TopicSpec[]; groups: GroupSpec[] } {
  const side = (topic: string, group: string): TopicSpec[] => [
    ...retryTiers.map((tier) => ({ name: retryTopic(topic, group, tier), partitions: 1, retentionMs: 2 * day })),
    { name: dlqTopic(topic, group), partitions: 1, retentionMs: 30 * day },
    { name: replayTopic(topic, group), partitions: 1, retentionMs: 2 * day },
  ];
  const writers = destinations.map(groups.crmWriter);
  const consumed = (topic: string, group: string): GroupSpec => ({
    group,
    topics: [topic, ...retryTiers.map((tier) => retryTopic(topic, group, tier)), replayTopic(topic, group)],
  });
  return {
    topics: [
      { name: topics.leads, partitions: 6, retentionMs: day },
      { name: topics.leadAccepted, partitions: 6, retentionMs: acceptedRetentionMs },
      { name: topics.leadResolved, partitions: 6, retentionMs: 8 * day },
      { name: topics.intakeDlq, partitions: 1, retentionMs: 30 * day },
      { name: topics.intakeReplay, partitions: 1, retentionMs: 2 * day },
      ...writers.flatMap((group) => side(topics.leadAccepted, group)),
      ...side(topics.leadResolved, groups.notifier),
    ],
    groups: [
      {
        group: groups.operatorDlq,
        topics: [
          topics.intakeDlq,
          ...writers.map((group) => dlqTopic(topics.leadAccepted, group)),
          dlqTopic(topics.leadResolved, groups.notifier),
        ],
      },
      { group: groups.intake, topics: [topics.leads, topics.intakeReplay] },
      { group: groups.intakeStates, topics: [topics.leadResolved] },
      ...writers.map((group) => consumed(topics.leadAccepted, group)),
      consumed(topics.leadResolved, groups.notifier),
    ],
  };
}
