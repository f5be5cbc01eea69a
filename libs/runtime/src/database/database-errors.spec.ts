import { describe, expect, it } from '@jest/globals';
import { DatabaseUnavailable, StatementFailed, toDatabaseError } from './database-errors.js';

const failed = (code: string, message = 'some text') => Object.assign(new Error(message), { code });

describe('toDatabaseError', () => {
  it.each([
    '08006', // connection failure
    '53300', // too many connections
    '57P01', // terminated by an administrator
    '57P03', // starting up
    '57014', // statement_timeout
    '55P03', // lock_timeout
    '25006', // read-only after a failover
    'ECONNREFUSED',
    'ECONNRESET',
    'EAI_AGAIN',
  ])('takes %s as not available', (code) => {
    expect(toDatabaseError(failed(code))).toMatchObject({ name: 'DatabaseUnavailable', code });
  });

  it.each([
    ['timeout exceeded when trying to connect', 'acquire_timeout'],
    ['Query read timeout', 'query_timeout'],
    ['Connection terminated unexpectedly', 'connection_lost'],
    ['Connection terminated due to connection timeout', 'connection_lost'],
    ['Client has encountered a connection error and is not queryable', 'connection_lost'],
    ['Cannot use a pool after calling end on the pool', 'connection_lost'],
  ])('takes the driver saying "%s" as not available', (message, code) => {
    expect(toDatabaseError(new Error(message))).toMatchObject({ name: 'DatabaseUnavailable', code });
  });

  it.each([
    ['22P02', { isDataError: true, isTransient: false }],
    ['23505', { isDataError: true, isTransient: false }],
    ['54000', { isDataError: true, isTransient: false }],
    ['40P01', { isDataError: false, isTransient: true }],
    ['40001', { isDataError: false, isTransient: true }],
    ['42P01', { isDataError: false, isTransient: false }],
  ])('says of %s what may be done about it', (code, verdict) => {
    expect(toDatabaseError(failed(code), 'claim')).toMatchObject({ name: 'StatementFailed', code, statement: 'claim', ...verdict });
  });

  it('keeps no text that may quote data', () => {
    for (const code of ['22P02', '23505', 'P0001', 'XX000', 'ZZZZZ']) {
      const error = toDatabaseError(failed(code, 'ada@example.test'), 'claim');
      expect(`${error.message}${error.stack}${JSON.stringify(error)}`).not.toContain('ada@');
    }
    expect(toDatabaseError(failed('42703', 'column "x" does not exist')).message).toContain('column "x"');
  });

  it('leaves its own errors and faults of the code as they are', () => {
    const fault = new TypeError('a fault of ours');
    expect(toDatabaseError(fault)).toBe(fault);
    const known = [new DatabaseUnavailable('57P01'), new StatementFailed({ code: '23505' })];
    expect(known.map((error) => toDatabaseError(error))).toEqual(known);
    expect(toDatabaseError(undefined)).toBeInstanceOf(Error);
  });
});
