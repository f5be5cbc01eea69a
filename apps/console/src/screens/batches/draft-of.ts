import type { BatchFilter, DraftRequest } from '../../api/types.js';
import { momentIn } from '../../parts/moment-in.js';

const names = ['destination', 'class', 'code', 'organization', 'source', 'form'] as const;
const moments = ['submitted_from', 'submitted_to', 'dead_from', 'dead_to'] as const;

const text = (form: FormData, name: string): string => String(form.get(name) ?? '').trim();
const said = (values: readonly (readonly [string, string | undefined])[]) =>
  Object.fromEntries(values.filter(([, value]) => value !== undefined && value !== ''));

function filterIn(form: FormData, eventIds: string[] | undefined): BatchFilter {
  return {
    ...said(names.map((name) => [name, text(form, name)])),
    ...said(moments.map((name) => [name, momentIn(form, name)])),
    ...(form.has('no_code') && { no_code: true }),
    ...(text(form, 'schema_id') !== '' && { schema_id: Number(text(form, 'schema_id')) }),
    ...(form.has('no_schema_id') && { no_schema_id: true }),
    ...(eventIds !== undefined && { event_ids: eventIds }),
  };
}

/** The draft that the form asks for, of some leads where they were chosen before. Throws ApiError for a time that is none. */
export function draftOf(form: FormData, eventIds: string[] | undefined): DraftRequest {
  return {
    filter: filterIn(form, eventIds),
    max: Number(text(form, 'max')),
    new_deadline: text(form, 'new_deadline'),
    rate_per_s: Number(text(form, 'rate_per_s')),
    concurrency: Number(text(form, 'concurrency')),
    ...(text(form, 'max_duration') !== '' && { max_duration: text(form, 'max_duration') }),
    ...(text(form, 'canary') !== '' && { canary: Number(text(form, 'canary')) }),
    reason: text(form, 'reason'),
  };
}
