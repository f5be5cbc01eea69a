import type { AdminPort } from '../kafka/ports.js';

export interface TopologyOptions {
  admin: AdminPort;
  /** Destination names of the site file. */
  destinations: readonly string[];
  /** 3 in production (min ISR 2), 1 on a single broker. */
  replication: number;
}

/** One thing about a topic or group that is not as the table in contracts says. */
export interface TopologyProblem {
  name: string;
  problem: string;
  fix: string;
}

export interface TopologyReport {
  created: string[];
  existing: string[];
  /** group and topic of every offset that was committed because there was none. */
  offsets: { group: string; topic: string; partitions: number[] }[];
  problems: TopologyProblem[];
}

/** Creates missing topics, commits the earliest offset where a group has none, reports what differs. Never alters an existing topic. */
export async function applyTopics(_options: TopologyOptions): Promise<TopologyReport> {
  throw new Error('not implemented');
}

/** Start-up check of the named groups (default: all). @throws ConfigError with every mismatch at once. */
export async function verifyTopics(_options: TopologyOptions & { groups?: readonly string[] }): Promise<void> {
  throw new Error('not implemented');
}
