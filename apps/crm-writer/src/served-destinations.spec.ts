import { describe, expect, it } from '@jest/globals';
import { ConfigError, type DestinationConfig } from '#runtime';
import { checkNames, servedDestinations } from './served-destinations.js';

const destination = (name: string) => ({ name }) as DestinationConfig;
const site = { destinations: { a: destination('a'), b: destination('b') } };

describe('the destinations that a process serves', () => {
  it('are those named, each once', () => {
    expect(servedDestinations(site, ['b', 'b']).map(({ name }) => name)).toEqual(['b']);
  });

  it('are all of the site file where none is named', () => {
    expect(servedDestinations(site).map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('are refused with every unknown name', () => {
    expect(() => servedDestinations(site, ['a', 'nowhere', 'elsewhere'])).toThrow(ConfigError);
    expect(() => servedDestinations(site, ['a', 'nowhere', 'elsewhere'])).toThrow(/^2 .*\n.*LD_DESTINATIONS.*a, b/);
  });

  it('are not held against a site file that cannot be read', () => {
    expect(() => checkNames(['nowhere'], undefined)).not.toThrow();
  });
});
