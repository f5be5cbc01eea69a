import { describe, expect, it } from '@jest/globals';
import { hasArrived, type Seen, stepsOf, Timeline } from './steps.js';

const at = (ms: number): string => new Date(Date.parse('2026-01-31T09:30:00.000Z') + ms).toISOString();
const delivery = (destination: string, state: string, ms: number) => ({
  destination,
  state,
  as_of: at(ms),
  operations: [{ kind: 'contact', state: state === 'delivered' ? 'succeeded' : state, ref: 'c-1' }],
});

const ada: Seen = {
  sample: { name: 'Ada', door: 'HTTP', consent: true },
  journey: {
    event_id: 'e-1',
    lead_ref: 'L-1',
    accepted_at: at(0),
    deliveries: [delivery('crm', 'delivered', 40), delivery('marketing', 'in_flight', 20)],
  },
  records: [{ id: 'r-1', received_at: at(30) }],
  messages: [{ message_id: 1, received_at: at(60) }],
};
const grace: Seen = {
  sample: { name: 'Grace', door: 'Kafka', consent: false },
  journey: { event_id: 'e-2', lead_ref: 'L-2', accepted_at: at(10), deliveries: [delivery('crm', 'delivered', 50)] },
  records: [{ id: 'r-2', received_at: at(35) }],
  messages: [{ message_id: 2, received_at: at(70) }],
};

describe('the steps of the sample leads', () => {
  it('stand in the order of time over all of them, without what passes in a moment, and say why one goes to fewer destinations', () => {
    expect(stepsOf([ada, grace]).map(({ what }) => what)).toEqual([
      'Ada (HTTP): accepted as L-1, event e-1',
      'Grace (Kafka): accepted as L-2, event e-2',
      'Grace (Kafka): no delivery to marketing: no consent',
      'Ada (HTTP): seen in the CRM as record r-1',
      'Grace (Kafka): seen in the CRM as record r-2',
      'Ada (HTTP): crm: delivered (contact c-1)',
      'Grace (Kafka): crm: delivered (contact c-1)',
      'Ada (HTTP): seen in the chat as message 1',
      'Grace (Kafka): seen in the chat as message 2',
    ]);
  });

  it('put the outcome before the message that tells of it, although its owner was asked later', () => {
    const journey = {
      ...grace.journey,
      deliveries: [{ ...delivery('crm', 'delivered', 90), operations: [{ kind: 'lead', state: 'succeeded', ref: 'r-2' }] }],
    };
    const lines = stepsOf([{ ...grace, journey: journey as typeof ada.journey }]).map(({ what }) => what);
    expect(lines.slice(-2)).toEqual(['Grace (Kafka): crm: delivered (lead r-2)', 'Grace (Kafka): seen in the chat as message 2']);
  });

  it('name no missing destination before all leads are accepted', () => {
    const { journey: _, ...unknown } = ada;
    expect(stepsOf([unknown, grace]).filter(({ what }) => what.includes('no consent'))).toEqual([]);
    expect(stepsOf([unknown, grace])).toHaveLength(4);
  });

  it('are over for a lead that is delivered everywhere and seen at both ends', () => {
    expect([ada, grace].map(hasArrived)).toEqual([false, true]);
    expect(hasArrived({ ...grace, messages: [] })).toBe(false);
  });
});

describe('the timeline', () => {
  it('holds a step back until an earlier one can no longer turn up, and hands each out once', () => {
    const timeline = new Timeline(500);
    const now = (ms: number): number => Date.parse(at(ms));
    const [early, late] = [
      { at: at(0), what: 'early' },
      { at: at(100), what: 'late' },
    ];
    expect(timeline.due([late], now(550))).toEqual([]);
    expect(timeline.due([early, late], now(599))).toEqual([early]);
    expect(timeline.due([early, late], now(600))).toEqual([late]);
    expect(timeline.rest([early, late, { at: at(900), what: 'last' }])).toEqual([{ at: at(900), what: 'last' }]);
  });
});
