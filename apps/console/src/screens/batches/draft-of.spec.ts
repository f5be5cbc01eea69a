import { describe, expect, it } from '@jest/globals';
import { ApiError } from '../../api/client.js';
import { draftOf } from './draft-of.js';

function formOf(fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}
const limits = { max: '1000', rate_per_s: '20', concurrency: '50', new_deadline: '4h', max_duration: '', canary: '' };

describe('the draft of a form', () => {
  it('is about a source, a form and windows of time as far as they are said', () => {
    const fields = { ...limits, source: 'website', form: ' contact ', submitted_from: '2026-06-01T08:00', dead_to: '2026-06-02T00:00' };
    const { filter } = draftOf(formOf({ ...fields, submitted_to: '', destination: '', reason: 'mended' }), undefined);
    expect(filter).toEqual({
      source: 'website',
      form: 'contact',
      submitted_from: new Date('2026-06-01T08:00').toISOString(),
      dead_to: new Date('2026-06-02T00:00').toISOString(),
    });
  });

  it('has the leads that were chosen before, the absences that were ticked, and its limits', () => {
    const form = formOf({ ...limits, schema_id: '4', no_code: 'on', max_duration: '1h', canary: '12', reason: ' mended ' });
    expect(draftOf(form, ['e-1'])).toEqual({
      filter: { no_code: true, schema_id: 4, event_ids: ['e-1'] },
      max: 1_000,
      new_deadline: '4h',
      rate_per_s: 20,
      concurrency: 50,
      max_duration: '1h',
      canary: 12,
      reason: 'mended',
    });
  });

  it('refuses a time that is none, by the name of its field', () => {
    expect(() => draftOf(formOf({ ...limits, submitted_from: 'noon' }), undefined)).toThrow(ApiError);
  });
});
