import { describe, expect, it } from '@jest/globals';
import { ConfigError, type DestinationConfig } from '#runtime';
import { servedDestinations } from './served-destinations.js';

const destination = (name: string, timeoutMs: number, lookupTimeoutMs = 5_000) =>
  ({ name, timeoutMs, lookupTimeoutMs }) as DestinationConfig;
const site = { destinations: { a: destination('a', 10_000), b: destination('b', 10_000), slow: destination('slow', 40_000, 30_000) } };

describe('the destinations that a process serves', () => {
  it('are those named, each once', () => {
    expect(servedDestinations(site, { names: ['b', 'b'], leaseMs: 30_000 }).map(({ name }) => name)).toEqual(['b']);
  });

  it('are all of the site file where none is named', () => {
    expect(servedDestinations(site, { leaseMs: 60_000 }).map(({ name }) => name)).toEqual(['a', 'b', 'slow']);
  });

  it('are refused with every unknown name and every timeout that the lease cannot cover', () => {
    let problems: ConfigError['problems'] = [];
    try {
      servedDestinations(site, { names: ['a', 'slow', 'nowhere'], leaseMs: 30_000 });
    } catch (error) {
      problems = (error as ConfigError).problems;
    }
    expect(problems.map(({ path }) => path)).toEqual([
      'destinations.slow.timeout_ms',
      'destinations.slow.lookup_timeout_ms',
      'LD_DESTINATIONS',
    ]);
  });
});
