import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ConfigError } from '../config/config-error.js';
import { KeyRing } from './key-ring.js';
import { rewrap, type Sealed, seal, unseal } from './seal.js';

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const aad = 'vault:L-0123456789ABCDEF:1';
const plaintext = Buffer.from(JSON.stringify({ email: 'ada@example.test', name: 'Ada 👩‍💻' }));

let folder: string;
let ring: KeyRing;

function ringFrom(content: unknown): KeyRing {
  const file = join(folder, 'keyring.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return KeyRing.fromFile(file);
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ring-'));
  ring = ringFrom({ current: 'k1', keys: { k1: key(1) } });
});

afterAll(() => rmSync(folder, { recursive: true }));

const reasonOf = (open: () => unknown): unknown => {
  try {
    open();
  } catch (error) {
    return (error as { reason?: unknown }).reason;
  }
  return 'opened';
};

describe('seal', () => {
  it('is opened by unseal at the same place', () => {
    expect(unseal(ring, seal(ring, plaintext, aad), aad)).toEqual(plaintext);
  });

  it('opens whatever was sealed, empty and large included', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5_000 }), fc.string(), (bytes, place) => {
        expect(unseal(ring, seal(ring, Buffer.from(bytes), place), place).equals(Buffer.from(bytes))).toBe(true);
      }),
    );
  });

  it('never makes the same bytes twice of one text', () => {
    const [one, two] = [seal(ring, plaintext, aad), seal(ring, plaintext, aad)];
    expect(one.sealed.equals(two.sealed)).toBe(false);
    expect(one.wrappedKey.equals(two.wrappedKey)).toBe(false);
    expect(one.sealed.includes('ada@')).toBe(false);
  });

  it.each(['sealed', 'wrappedKey'] as const)('does not open once any bit of %s is flipped', (part) => {
    const value = seal(ring, plaintext, aad);
    for (let bit = 0; bit < value[part].length * 8; bit += 1) {
      const flipped = Buffer.from(value[part]);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(reasonOf(() => unseal(ring, { ...value, [part]: flipped }, aad))).toBe('tampered');
    }
  });

  it.each(['sealed', 'wrappedKey'] as const)('does not open when %s is cut short', (part) => {
    const value = seal(ring, plaintext, aad);
    for (const length of [0, 1, 27, 28, value[part].length - 1]) {
      expect(reasonOf(() => unseal(ring, { ...value, [part]: value[part].subarray(0, length) }, aad))).toBe('tampered');
    }
  });

  it('does not open at another place', () => {
    const value = seal(ring, plaintext, aad);
    expect(reasonOf(() => unseal(ring, value, 'vault:L-0123456789ABCDEF:2'))).toBe('tampered');
  });

  it('does not open under an id that was changed, even where the key is the same', () => {
    const twins = ringFrom({ current: 'k1', keys: { k1: key(1), k2: key(1) } });
    expect(reasonOf(() => unseal(twins, { ...seal(twins, plaintext, aad), keyId: 'k2' }, aad))).toBe('tampered');
  });
});

describe('rotation', () => {
  it('reads what the old key wrapped, writes with the new one, and rewraps without touching the data', () => {
    const old: Sealed = seal(ring, plaintext, aad);
    const both = ringFrom({ current: 'k2', keys: { k1: key(1), k2: key(2) } });
    expect(unseal(both, old, aad)).toEqual(plaintext);
    expect(seal(both, plaintext, aad).keyId).toBe('k2');
    const moved = rewrap(both, old, aad);
    expect(moved).toMatchObject({ keyId: 'k2', sealed: old.sealed });
    const onlyNew = ringFrom({ current: 'k2', keys: { k2: key(2) } });
    expect(unseal(onlyNew, moved, aad)).toEqual(plaintext);
    expect(reasonOf(() => unseal(onlyNew, old, aad))).toBe('unknown_key');
  });
});

describe('a key ring', () => {
  it.each([
    ['no JSON', '{"current":"hunter2'],
    ['a current key that is not there', { current: 'k9', keys: { k1: key(1) } }],
    ['a key of another size', { current: 'k1', keys: { k1: Buffer.from('hunter2').toString('base64') } }],
    ['an unknown field', { current: 'k1', keys: { k1: key(1) }, more: true }],
    ['an empty file', ''],
  ])('of %s is refused without being shown', (_, content) => {
    expect(() => ringFrom(content)).toThrow(ConfigError);
    expect(() => ringFrom(content)).not.toThrow(/hunter2|aHVudGVyMg/);
  });
});
