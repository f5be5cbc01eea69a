import { describe, expect, it } from '@jest/globals';
import apiKeys from 'kafkajs/src/protocol/requests/apiKeys.js';
import { versionProblems } from './version-floor.js';

type Ranges = Record<string, [number, number] | undefined>;

/** Kafka 4.0.0, by its own list of requests. */
const kafka40: Ranges = {
  Produce: [3, 12],
  Fetch: [4, 17],
  ListOffsets: [1, 10],
  Metadata: [0, 13],
  OffsetCommit: [2, 9],
  OffsetFetch: [1, 9],
  GroupCoordinator: [0, 6],
  JoinGroup: [2, 9],
  Heartbeat: [0, 4],
  LeaveGroup: [0, 5],
  SyncGroup: [0, 5],
  DescribeGroups: [0, 6],
  ListGroups: [0, 5],
  CreateTopics: [2, 7],
  DeleteTopics: [1, 6],
  DescribeConfigs: [1, 4],
};

/** Kafka 4.4.0. */
const kafka44: Ranges = {
  Produce: [3, 13],
  Fetch: [4, 18],
  ListOffsets: [1, 11],
  Metadata: [0, 13],
  OffsetCommit: [2, 10],
  OffsetFetch: [1, 10],
  GroupCoordinator: [0, 6],
  JoinGroup: [0, 9],
  Heartbeat: [0, 4],
  LeaveGroup: [0, 5],
  SyncGroup: [0, 5],
  DescribeGroups: [0, 6],
  ListGroups: [0, 5],
  CreateTopics: [2, 7],
  DeleteTopics: [1, 6],
  DescribeConfigs: [1, 4],
};

const ranges = (apis: Ranges) =>
  Object.fromEntries(
    Object.entries(apis).flatMap(([api, range]) =>
      range === undefined ? [] : [[apiKeys[api] ?? -1, { minVersion: range[0], maxVersion: range[1] }]],
    ),
  );

describe('versionProblems', () => {
  it('case 2: finds nothing wrong with the oldest and the newest Kafka 4, whose floors differ', () => {
    expect(versionProblems(ranges(kafka40))).toEqual([]);
    expect(versionProblems(ranges(kafka44))).toEqual([]);
  });

  it('case 2: names the request whose floor has risen above this client', () => {
    expect(versionProblems(ranges({ ...kafka44, JoinGroup: [6, 9] }))).toEqual([
      'JoinGroup: the broker speaks versions 6 to 9, this client 0 to 5',
    ]);
  });

  it('has no room left under DeleteTopics: the first floor to watch', () => {
    expect(versionProblems(ranges({ ...kafka44, DeleteTopics: [2, 6] }))).toEqual([
      'DeleteTopics: the broker speaks versions 2 to 6, this client 0 to 1',
    ]);
  });

  it('case 2: names a request that the broker does not have, and does not miss what we never send', () => {
    expect(versionProblems(ranges({ ...kafka44, OffsetCommit: undefined }))).toEqual([
      'OffsetCommit is missing (this client speaks versions 0 to 5)',
    ]);
    expect(Object.keys(kafka44)).not.toContain('InitProducerId');
  });
});
