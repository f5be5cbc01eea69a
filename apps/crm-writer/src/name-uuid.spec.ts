import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { v5 } from 'uuid';
import { nameUuid } from './name-uuid.js';

describe('ids made of names', () => {
  it('are those of the uuid library, for any name', () => {
    const namespace = '6f9dd2b4-4d0c-5f0e-9a51-0c8f4a6d2e17';
    const bytes = Buffer.from(namespace.replaceAll('-', ''), 'hex');
    fc.assert(fc.property(fc.string(), (name) => expect(nameUuid(bytes, name)).toBe(v5(name, namespace))));
  });
});
