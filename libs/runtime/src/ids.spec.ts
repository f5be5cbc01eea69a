import { describe, expect, it } from '@jest/globals';
import { firstEventId, newEventId, newLeadRef } from './ids.js';
import { randomHex, takeSecret } from './random.js';

describe('ids', () => {
  it('makes event ids that are uuid v7 and sort by time of making', () => {
    const ids = Array.from({ length: 1_000 }, () => newEventId());
    expect(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toBe(true);
    expect(ids.toSorted()).toEqual(ids);
  });

  it('makes event ids of a given time, and says where the ids of a time begin', () => {
    const atMs = Date.UTC(2026, 5, 1);
    const ids = Array.from({ length: 100 }, () => newEventId(atMs));
    expect(new Set(ids).size).toBe(100);
    expect(ids.every((id) => id >= firstEventId(atMs) && id < firstEventId(atMs + 1))).toBe(true);
    expect(newEventId(atMs - 1) < firstEventId(atMs)).toBe(true);
  });

  it('makes lead references without letters that are misread', () => {
    const refs = Array.from({ length: 1_000 }, newLeadRef);
    expect(refs.every((ref) => /^L-[0-9A-HJKMNP-TV-Z]{16}$/.test(ref))).toBe(true);
    expect(new Set(refs).size).toBe(1_000);
  });

  it('never gives the same random bytes twice, also where the pool is filled again', () => {
    const texts = Array.from({ length: 3_000 }, () => randomHex(16));
    expect(texts.every((text) => /^[0-9a-f]{32}$/.test(text))).toBe(true);
    expect(new Set(texts).size).toBe(3_000);
  });

  it("gives secret bytes away: they are nobody else's, and what their owner does to them stays with the owner", () => {
    const taken = Array.from({ length: 600 }, () => takeSecret(32));
    const texts = taken.map((bytes) => bytes.toString('hex'));
    expect(new Set(texts).size).toBe(600);
    expect(texts).not.toContain('0'.repeat(64));
    for (const bytes of taken.slice(0, 300)) bytes.fill(0);
    expect(taken.slice(300).map((bytes) => bytes.toString('hex'))).toEqual(texts.slice(300));
  });
});
