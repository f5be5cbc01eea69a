import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { SourceConfig } from '#runtime';
import { emailIdentity, normaliseEmail, normalisePhone } from './contact.js';
import { normalise } from './normalise.js';
import type { RawSubmission } from './raw-submission.js';
import { slug } from './slug.js';
import { submittedAtProblem } from './times.js';

const source: SourceConfig = {
  id: 'website',
  organization: 'demo',
  keyHashes: [],
  country: 'US',
  trustedTrace: false,
  requestsPerSecond: 1,
};

const raw = (changes: Partial<RawSubmission> = {}): RawSubmission => ({
  sourceEventId: 'web-1001',
  form: 'contact',
  campaign: 'autumn',
  submittedAt: null,
  contact: { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550123' },
  message: 'Please call me',
  consent: { given: true, at: null },
  custom: {},
  supersedes: null,
  test: false,
  ...changes,
});

function submissionOf(changes: Partial<RawSubmission>) {
  const result = normalise(raw(changes), source);
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.submission;
}

function fieldsOf(changes: Partial<RawSubmission>): string[] {
  const result = normalise(raw(changes), source);
  return result.ok ? [] : result.errors.map(({ field }) => field);
}

describe('normalise', () => {
  it('gives the same form through either door', () => {
    expect(
      submissionOf({ form: ' Contact Form! ', contact: { name: '  Ada ', email: ' Ada.Example@EXAMPLE.test', phone: '(202) 555-0123' } }),
    ).toMatchObject({
      organization: 'demo',
      source: 'website',
      form: 'Contact Form!',
      formSlug: 'contact-form',
      contact: { name: 'Ada', email: 'Ada.Example@example.test', phone: '+12025550123' },
    });
  });

  it('keeps empty apart from absent', () => {
    const { contact, message, form, formSlug } = submissionOf({ contact: { name: '', email: '', phone: null }, message: null, form: '' });
    expect(contact).toEqual({ name: '', email: '', phone: undefined });
    expect(message).toBeUndefined();
    expect(form).toBe('');
    expect(formSlug).toBeUndefined();
  });

  it('keeps emoji, joiners, right-to-left marks and characters beyond the first plane', () => {
    const name = '👩‍👩‍👧 𠮷野家 \u200fשלום';
    expect(submissionOf({ contact: { name, email: null, phone: null } }).contact.name).toBe(name);
  });

  it('refuses NUL and half surrogates by name, in every field that carries text', () => {
    for (const bad of ['A\u0000b', 'A\ud83d', '\udc00b']) {
      expect(fieldsOf({ contact: { name: bad, email: bad, phone: bad }, message: bad, sourceEventId: bad, supersedes: bad })).toEqual(
        expect.arrayContaining(['contact.name', 'contact.email', 'contact.phone', 'message', 'source_event_id', 'supersedes']),
      );
      expect(fieldsOf({ form: bad, campaign: bad })).toEqual(['form', 'campaign']);
      expect(fieldsOf({ custom: { note: bad, [bad]: 'x' } })).toEqual(['custom.note', 'custom[1]']);
    }
  });

  it('counts characters, not code units, and never cuts', () => {
    const fits = `${'a'.repeat(19_999)}😀`;
    expect(submissionOf({ message: fits }).message).toBe(fits);
    expect(fieldsOf({ message: `${fits}b` })).toEqual(['message']);
  });

  it('refuses what is not an address, a number or an id', () => {
    expect(fieldsOf({ contact: { name: null, email: 'not-an-address', phone: '+' }, sourceEventId: ' ' })).toEqual([
      'source_event_id',
      'contact.email',
      'contact.phone',
    ]);
  });

  it('refuses a person where a form or a campaign should be', () => {
    expect(fieldsOf({ campaign: 'ada@example.test', form: '!!!' })).toEqual(['form', 'campaign']);
  });

  it('refuses reserved and empty custom names and too many of them', () => {
    const custom = Object.assign(Object.create(null), { ['__proto__']: 'x', '': 'y', constructor: 'fine' }) as RawSubmission['custom'];
    expect(fieldsOf({ custom })).toEqual(['custom.__proto__', 'custom[1]']);
    expect(fieldsOf({ custom: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`f${index}`, 'x'])) })).toEqual(['custom']);
  });

  it('refuses a time that is none', () => {
    expect(fieldsOf({ submittedAt: new Date(Number.NaN), consent: { given: true, at: new Date(Number.NaN) } })).toEqual([
      'submitted_at',
      'consent.at',
    ]);
  });

  it('never repeats what was sent', () => {
    const planted = 'Ada Zebra-Quince';
    const result = normalise(
      raw({
        sourceEventId: `${planted}\u0000`,
        contact: { name: `${planted}\u0000`, email: planted, phone: planted },
        custom: { [`${planted}\u0000`]: 'x' },
      }),
      source,
    );
    expect(JSON.stringify(result)).not.toContain('Zebra');
  });
});

describe('the e-mail rule', () => {
  it.each([
    ['Ann.Lee@Example.TEST ', 'Ann.Lee@example.test'],
    ['ann.lee+ads@example.test', 'ann.lee+ads@example.test'],
    ['annlee@example.test', 'annlee@example.test'],
  ])('%s becomes %s', (given, expected) => {
    expect(normaliseEmail(given)).toEqual({ value: expected });
  });

  it('case 17: takes two spellings of one mailbox for one person, dots and plus tags for others', () => {
    const person = (text: string) => {
      const result = normaliseEmail(text);
      return 'value' in result ? emailIdentity(result.value) : undefined;
    };
    const people = ['Ann.Lee@Example.test ', 'ann.lee@example.test', 'ann.lee+ads@example.test', 'annlee@example.test'].map(person);
    expect(people[0]).toBe(people[1]);
    expect(new Set(people).size).toBe(3);
  });

  it('changes nothing when applied again', () => {
    fc.assert(
      fc.property(fc.emailAddress(), (address) => {
        const once = normaliseEmail(address);
        if ('value' in once) expect(normaliseEmail(once.value)).toEqual(once);
      }),
    );
  });
});

describe('the id', () => {
  it.each(['source_event_id', 'Idempotency-Key'] as const)('is refused where it was sent: %s', (idField) => {
    for (const sourceEventId of ['x'.repeat(256), '  ', 'a\u0000b']) {
      const result = normalise(raw({ sourceEventId }), source, idField);
      expect('errors' in result && result.errors.map(({ field }) => field)).toEqual([idField]);
    }
  });
});

describe('the phone rule', () => {
  it.each([
    ['+49 30 901820', 'US', '+4930901820'],
    ['030 1234 5678', 'DE', '+493012345678'],
    ['33612345678', 'FR', '+33612345678'],
    ['(202) 555-0123', 'US', '+12025550123'],
    ['+1 202 555 0123 ext. 45', 'US', '+12025550123;ext=45'],
    ['', 'US', ''],
  ])('%s from %s becomes %s', (given, country, expected) => {
    expect(normalisePhone(given, country)).toEqual({ value: expected });
  });

  it.each([
    ['+', 'US'],
    ['33612345678', 'US'],
    ['call 202 555 0123 after five', 'US'],
    ['202 555 0123', 'no country'],
  ])('refuses %s from %s rather than guess', (given, country) => {
    expect(normalisePhone(given, country)).toHaveProperty('problem');
  });
});

describe('slug', () => {
  it.each([
    ['Autumn Sale 2026', 'autumn-sale-2026'],
    ['  --Herbst/Aktion--  ', 'herbst-aktion'],
    ['Обратная связь', 'обратная-связь'],
    ['！！', ''],
  ])('%s becomes "%s"', (given, expected) => {
    expect(slug(given)).toBe(expected);
  });
});

describe('submittedAtProblem', () => {
  const now = new Date('2026-06-01T12:00:00Z');
  const after = (ms: number) => submittedAtProblem(new Date(now.getTime() + ms), now);

  it('allows clocks two minutes ahead and 400 days of delay, and no more', () => {
    expect(after(120_000)).toBeUndefined();
    expect(after(120_001)).toMatchObject({ field: 'submitted_at' });
    expect(after(-400 * 86_400_000)).toBeUndefined();
    expect(after(-400 * 86_400_000 - 1)).toMatchObject({ field: 'submitted_at' });
  });
});
