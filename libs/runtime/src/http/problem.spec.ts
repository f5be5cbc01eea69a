import { describe, expect, it } from '@jest/globals';
import { problem } from './problem.js';

describe('problem', () => {
  it('has type, title, status and what is added', () => {
    const errors = [{ field: 'contact.email', problem: 'is not an address', fix: 'Send an address such as name@example.test' }];
    expect(problem(422, 'idempotency-conflict', 'Other content under the same key', { errors, event_id: 'e1' })).toEqual({
      type: 'urn:lead-delivery:problem:idempotency-conflict',
      title: 'Other content under the same key',
      status: 422,
      errors,
      event_id: 'e1',
    });
  });
});
