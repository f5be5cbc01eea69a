import { describe, expect, it } from '@jest/globals';
import { eventIdOf, waysToRead } from './search-kinds.js';

const id = '01933c6e-7c1a-7abc-8def-0123456789ab';
const trace = '0af7651916cd43dd8448eb211c80319c';
const kinds = (text: string) => waysToRead(text, 'auto').map(({ kind }) => kind);

describe('what a typed text may be', () => {
  it.each([
    [id, ['event_id', 'attempt_id', 'source_event_id', 'crm_id']],
    [`${id}:sandbox-crm:lead`, ['operation_key', 'source_event_id', 'crm_id']],
    [`${id}:lead/telegram/ab/new-lead:new-lead~g2`, ['operation_key', 'source_event_id', 'crm_id']],
    [trace, ['trace_id', 'source_event_id', 'crm_id']],
    ['L-0123456789ABCDEF', ['lead_ref', 'source_event_id', 'crm_id']],
    ['web-1234', ['source_event_id', 'crm_id']],
    ['C-100', ['source_event_id', 'crm_id']],
    ['ada@example.test', ['email', 'source_event_id', 'crm_id']],
    ['+1 202 555-0123', ['phone', 'source_event_id', 'crm_id']],
    ['(202) 555 0123 ext. 9', ['phone', 'source_event_id', 'crm_id']],
    ['123', ['source_event_id', 'crm_id']],
    ['   ', []],
  ])('%j is tried as %j', (text, expected) => {
    expect(kinds(text)).toEqual(expected);
  });

  it('is its trace id where somebody pastes a whole traceparent', () => {
    expect(waysToRead(`00-${trace}-b7ad6b7169203331-01`, 'auto')).toEqual([{ kind: 'trace_id', value: trace }]);
  });

  it('is what the person says it is, whatever it looks like', () => {
    expect(waysToRead(` ${id} `, 'email')).toEqual([{ kind: 'email', value: id }]);
    expect(waysToRead('2025550123', 'phone')).toEqual([{ kind: 'phone', value: '2025550123' }]);
  });

  it('tells the lead of an operation key', () => {
    expect(eventIdOf(`${id.toUpperCase()}:sandbox-crm:lead`)).toBe(id);
    expect(eventIdOf(id)).toBeUndefined();
  });
});
