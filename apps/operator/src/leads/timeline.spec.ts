import { describe, expect, it } from '@jest/globals';
import type { LeadCourse } from '#contracts';
import { toTimeline } from './timeline.js';

const at = '2026-01-01T00:00:00.000Z';
const course: LeadCourse = {
  ...{
    event_id: 'e',
    lead_ref: 'L-1',
    organization: 'demo',
    source: 'website',
    form: null,
    campaign: null,
    policy: 'default',
    owner: null,
  },
  ...{ test: false, submitted_at: at, accepted_at: at, deadline_at: at, trace_id: null, announcement: 'announced', supersedes: null },
  vault: { state: 'gone', revision: 0, consent_withdrawn_at: null, delete_after: null },
  erased: false,
  ...{ superseded_by: [], deliveries: [], notifications: [], refusals: [] },
};
const seen = (changes: Partial<LeadCourse>) =>
  toTimeline(
    {
      ...{ eventId: 'e', masked: undefined, histories: new Map(), destinations: [], discrepancies: [], unavailable: [] },
      own: { letters: [], replays: [], audited: [] },
      course: { ...course, ...changes },
    },
    { destinations: {}, owners: {} },
  )?.summary.seen_by_customer;

describe('what is said of a lead of which no payload is kept', () => {
  it('is that it is gone where it was erased, and not where its time was over', () => {
    expect(seen({ erased: true })).toMatch(/is gone/);
    expect(seen({ erased: false })).not.toMatch(/is gone/);
  });
});
