import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { SourceConfig } from '#runtime';
import { SourceKeys } from './source-keys.js';

const hash = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`;
const source = (id: string, ...keys: string[]): SourceConfig => ({
  id,
  organization: 'demo',
  keyHashes: keys.map(hash),
  country: 'US',
  trustedTrace: false,
  requestsPerSecond: 1,
});
const keys = new SourceKeys([source('website', 'old', 'new'), source('partner', 'other'), source('topic-only')]);

describe('SourceKeys', () => {
  it.each([
    ['Bearer old', 'website'],
    ['bearer new', 'website'],
    ['Bearer other', 'partner'],
  ])('knows whose %s is', (authorization, id) => {
    expect(keys.sourceOf(authorization)?.id).toBe(id);
  });

  it.each([undefined, '', 'Bearer', 'Bearer ', 'Bearer unknown', 'Bearer old new', 'Basic old', hash('old'), `Bearer ${hash('old')}`])(
    'knows nobody for %s',
    (authorization) => {
      expect(keys.sourceOf(authorization)).toBeUndefined();
    },
  );
});
