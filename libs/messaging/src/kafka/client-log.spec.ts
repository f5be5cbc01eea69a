import { describe, expect, it } from '@jest/globals';
import type { Logger, LogMethod } from '#runtime';
import { clientLogCreator, clientLogLevel } from './client-log.js';

const entry = (level: number, message: string, error?: string) => ({ namespace: 'Connection', level, log: { message, error } });

describe('client log', () => {
  it.each([
    ['Response GroupCoordinator(key: 10, version: 2)', 'The group coordinator is not available'],
    ['Response JoinGroup(key: 11, version: 5)', "The coordinator is loading and hence can't process requests for this group"],
    [
      'Response Metadata(key: 3, version: 6)',
      'There is no leader for this topic-partition as we are in the middle of a leadership election',
    ],
    ['Response Metadata(key: 3, version: 6)', 'This server does not host this topic-partition'],
    ['The group is rebalancing, re-joining', undefined],
    ['The coordinator is not aware of this member, re-joining the group', undefined],
  ])('has "%s" of a healthy start at debug', (message, error) => {
    expect(clientLogLevel(entry(1, message, error))).toBe('debug');
  });

  it('has no errors of its own: what fails for good is thrown at us', () => {
    expect(clientLogLevel(entry(1, 'Crash: KafkaJSNonRetriableError: no luck'))).toBe('warn');
    expect(clientLogLevel(entry(2, 'something odd'))).toBe('info');
    expect(clientLogLevel(entry(4, 'Starting'))).toBe('debug');
  });

  it('says the same warning once in 10 s', () => {
    let now = 0;
    const lines: string[] = [];
    const say: LogMethod = (fields: unknown) => void lines.push((fields as { reason: string }).reason);
    const logger = { debug: say, info: say, warn: say } as unknown as Logger;
    const log = clientLogCreator(logger, () => now)();
    for (; now < 25_000; now += 100) log(entry(1, 'Connection error: connect ECONNREFUSED 127.0.0.1:9'));
    log(entry(1, 'Connection timeout'));
    expect(lines).toEqual([...Array(3).fill('Connection error: connect ECONNREFUSED 127.0.0.1:9'), 'Connection timeout']);
  });
});
