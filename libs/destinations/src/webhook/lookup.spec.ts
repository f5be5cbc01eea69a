import { describe, expect, it } from '@jest/globals';
import type { HttpResult } from '../http/http-caller.js';
import { lookupPath, namesLead, readLookup, unknownPlaceholders } from './lookup.js';

const query = { kind: 'lead', eventId: 'e-1', personKey: 'p/1&x=2', timeoutMs: 1_000 };
const answered = (status: number, body: string, headers = {}): HttpResult => ({ kind: 'answered', status, headers, body });

describe('a lookup', () => {
  it('fills its template with encoded references', () => {
    expect(lookupPath('/leads?external_id={external_id}', query)).toBe('/leads?external_id=e-1');
    expect(lookupPath('contacts/{person_key}', query)).toBe('/contacts/p%2F1%26x%3D2');
  });

  it('names placeholders that do not exist', () => {
    expect(unknownPlaceholders('/x?email={email}&id={event_id}')).toEqual(['email']);
  });

  it('says by its template whether what it finds is the lead’s own or may be an older record of the person', () => {
    expect(['/c?person_key={person_key}', '/c?id={external_id}', '/c?e={event_id}'].map(namesLead)).toEqual([false, true, true]);
  });

  it.each<[string, HttpResult, object]>([
    ['an empty array', answered(200, '[]'), { kind: 'absent' }],
    ['404', answered(404, ''), { kind: 'absent' }],
    ['one record', answered(200, '[{"id":"l-1"}]'), { kind: 'found', ref: 'l-1' }],
    ['one record in a list', answered(200, '{"data":[{"id":7}]}'), { kind: 'found', ref: '7' }],
    ['an id that a double would round', answered(200, '[{"id":9007199254740993}]'), { kind: 'found', ref: '9007199254740993' }],
    ['two records', answered(200, '[{"id":"a"},{"id":"b"}]'), { kind: 'several', refs: ['a', 'b'] }],
    ['a record without id', answered(200, '[{}]'), { kind: 'unknown', code: 'answer_without_id' }],
    ['no JSON', answered(200, '<html>'), { kind: 'unknown', code: 'unreadable_answer' }],
    ['429', answered(429, ''), { kind: 'unknown', code: 'http_429', throttled: {} }],
    [
      '429 that says how long',
      answered(429, '', { 'retry-after': '7' }),
      { kind: 'unknown', code: 'http_429', throttled: { afterMs: 7_000 } },
    ],
    ['500', answered(500, ''), { kind: 'unknown', code: 'http_500' }],
    ['no connection', { kind: 'not_sent', code: 'enotfound' }, { kind: 'unknown', code: 'enotfound' }],
  ])('reads %s', (_name, result, expected) => {
    expect(readLookup(result, 0)).toEqual(expected);
  });
});
