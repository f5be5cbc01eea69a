import Broker, { type ApiVersions } from 'kafkajs/src/broker/index.js';
import apiKeys from 'kafkajs/src/protocol/requests/apiKeys.js';
import requestModule from 'kafkajs/src/protocol/requests/index.js';
import { UnsupportedBroker } from '../errors.js';

/** Every request that the ports send. Others, such as those of the idempotent producer, may be missing. */
const needed = [
  'Produce',
  'Fetch',
  'ListOffsets',
  'Metadata',
  'OffsetCommit',
  'OffsetFetch',
  'GroupCoordinator',
  'JoinGroup',
  'Heartbeat',
  'LeaveGroup',
  'SyncGroup',
  'DescribeGroups',
  'ListGroups',
  'CreateTopics',
  'DeleteTopics',
  'DescribeConfigs',
] as const;

const original = Broker.prototype.apiVersions;

/** What stands between this client and a broker with these version ranges, in plain words; empty when nothing does. */
export function versionProblems(versions: ApiVersions): string[] {
  return needed.flatMap((api) => {
    const own = (requestModule.requests[api]?.versions ?? []).map(Number);
    const [lowest, highest] = [Math.min(...own), Math.max(...own)];
    const theirs = versions[apiKeys[api] ?? -1];
    if (theirs === undefined) return [`${api} is missing (this client speaks versions ${lowest} to ${highest})`];
    const overlaps = theirs.minVersion <= highest && theirs.maxVersion >= lowest;
    return overlaps
      ? []
      : [`${api}: the broker speaks versions ${theirs.minVersion} to ${theirs.maxVersion}, this client ${lowest} to ${highest}`];
  });
}

/**
 * kafkajs takes the smaller of its own newest version and the broker's newest, and never looks at the broker's oldest. A broker that has
 * dropped the versions it knows would close the connection without a word; this names the request at the first connect instead.
 */
export function checkVersionFloor(): void {
  Broker.prototype.apiVersions = async function apiVersions(this: Broker): Promise<ApiVersions> {
    const versions = await original.call(this);
    const problems = versionProblems(versions);
    if (problems.length > 0) throw new UnsupportedBroker(problems);
    return versions;
  };
}
