import type { WindowItem, WindowOperation } from '#delivery';

/** An operation of a lead that was delivered at ten o'clock. */
export function windowOperation(more: Partial<WindowOperation> = {}): WindowOperation {
  return {
    operation_key: 'event:crm:lead',
    kind: 'lead',
    state: 'succeeded',
    ref: 'R-1',
    attempts: 1,
    with_evidence: true,
    seen_there: false,
    recorded_at: '2026-05-01T10:00:00.000Z',
    generation: 1,
    ...more,
  };
}

export function windowItem(more: Partial<WindowItem> = {}): WindowItem {
  return {
    event_id: '01970000-0000-7000-8000-000000000001',
    destination: 'crm',
    lead_ref: 'L-1',
    organization: 'demo',
    form: 'contact',
    test: false,
    state: 'delivered',
    submitted_at: '2026-05-01T09:59:00.000Z',
    accepted_at: '2026-05-01T09:59:00.000Z',
    finished_at: '2026-05-01T10:00:00.000Z',
    generation: 1,
    event: '',
    operations: [windowOperation()],
    newer_fields: [],
    contact_held: false,
    ...more,
  };
}
