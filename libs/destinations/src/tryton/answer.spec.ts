import { describe, expect, it } from '@jest/globals';
import type { HttpResult } from '../http/http-caller.js';
import { failureOf, readRpc } from './answer.js';

const answered = (status: number, body: unknown = '', headers = {}): HttpResult => ({
  kind: 'answered',
  status,
  headers,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const refused = (name: string, ...detail: unknown[]): HttpResult => answered(200, { id: 1, error: [name, ...detail] });
const userError = (text: string): HttpResult => refused('UserError', [text, '', null]);
const outcomeOf = (result: HttpResult): unknown => {
  const read = readRpc(result, 0);
  return read.kind === 'ok' ? read : failureOf(read);
};

describe('an answer of Tryton', () => {
  it('with a result is one, whatever it is', () => {
    expect(readRpc(answered(200, { id: 1, result: [7] }), 0)).toEqual({ kind: 'ok', value: [7] });
    expect(readRpc(answered(200, { id: 1, result: null }), 0)).toEqual({ kind: 'ok', value: null });
  });

  it.each([
    ['a key that is there already', userError('The code on party must be unique.'), 'not_unique'],
    ['a field that is missing', userError('A value is required for field "Company".'), 'required'],
    ['a value that its rules do not allow', userError('The value "7" for "Employee" is not valid according to its domain.'), 'not_valid'],
    ['anything else that it says to a person', userError('Ada cannot be written.'), 'user_error'],
    ['a question to a person', refused('UserWarning', ['name', 'Really?', '']), 'user_warning'],
  ])('with status 200 refuses %s for good, in a word of ours', (_what, answer, code) => {
    expect(outcomeOf(answer)).toEqual({ kind: 'permanent', class: 'permanent', code, status: 200 });
  });

  it.each([
    ['no right to the record', userError('You are not allowed to access "Party".'), 'not_allowed'],
    ['another way to log in', refused('LoginException', ['x', 'Code', 'char']), 'login_wanted'],
    ['a method that is not for us', answered(403), 'http_403'],
    ['a database that is not there', answered(404), 'no_such_database'],
    ['a session that it does not know', answered(401), 'session_refused'],
  ])('about %s concerns credentials and rights', (_what, answer, code) => {
    expect(outcomeOf(answer)).toMatchObject({ kind: 'auth', code });
  });

  it('about a record that changed meanwhile was not executed', () => {
    expect(readRpc(refused('ConcurrencyException', 'Records were modified'), 0)).toEqual({ kind: 'concurrent' });
    expect(outcomeOf(refused('ConcurrencyException', ''))).toMatchObject({ kind: 'transient', provablyNotExecuted: true });
  });

  it('of too many logins says to wait, and only sometimes for how long', () => {
    expect(outcomeOf(answered(429))).toMatchObject({ kind: 'throttled', code: 'http_429', afterMs: undefined });
    expect(outcomeOf(answered(429, '', { 'retry-after': '30' }))).toMatchObject({ afterMs: 30_000 });
  });

  it.each([
    ['any other exception', refused('division by zero', 'Traceback of Ada'), 'server_error'],
    ['a status of a server that fails', answered(502, '<html>'), 'http_502'],
    ['a page with status 200', answered(200, '<html>'), 'not_json'],
    ['something else than an answer', answered(200, '[]'), 'not_json'],
    ['more than may be read', { kind: 'answered', status: 200, headers: {} } as HttpResult, 'not_json'],
    ['nothing', { kind: 'no_answer', code: 'socket' } as HttpResult, 'socket'],
  ])('that is %s leaves in doubt what was done', (_what, answer, code) => {
    expect(outcomeOf(answer)).toMatchObject({ kind: 'uncertain', code });
  });

  it('about a name that it does not have came before anything was written', () => {
    expect(outcomeOf(refused("'nope'", ''))).toMatchObject({ kind: 'permanent', code: 'unknown_name' });
    expect(outcomeOf(answered(413))).toMatchObject({ kind: 'permanent', class: 'oversize' });
    expect(outcomeOf(answered(301))).toMatchObject({ kind: 'permanent', class: 'permanent' });
  });

  it('never passes on what it says about a person', () => {
    const texts = [userError('Party "Ada Lovelace" is not allowed.'), refused('Ada Lovelace', 'Traceback'), refused("'Ada Lovelace'", '')];
    for (const answer of texts) expect(JSON.stringify(outcomeOf(answer))).not.toContain('Ada');
  });
});
