import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { wrongIn } from '../../../test/support/api-contract.js';
import { openRestRig, type RestRig } from '../../../test/support/leadctl-rig.js';

let rig: RestRig;
beforeEach(async () => {
  rig = await openRestRig();
});
afterEach(async () => {
  const { asked } = rig;
  await rig.close();
  expect(asked.map((request) => [request.url, wrongIn(request)])).toEqual(asked.map(({ url }) => [url, []]));
});

const id = '0197a2f0-0000-7000-8000-000000000001';
const counts = { items: 3 };
const erasure = {
  erasure_id: id,
  state: 'tasks',
  kind: 'email',
  hash: 'h',
  author: 'olga',
  approver: 'adam',
  reason: 'request 17',
  organizations: ['demo'],
  created_at: '2026-06-01T12:00:00.000Z',
  expires_at: '2026-06-02T12:00:00.000Z',
  approved_at: '2026-06-01T13:00:00.000Z',
  erased_at: null,
  completed_at: null,
};

describe('a list that has more than a page', () => {
  it.each<[string[], object]>([
    [['batches', 'list'], { batch_id: id, state: 'draft', author: 'olga', counts }],
    [['audit', 'list'], { seq: 1, at: 'then', person: 'olga', action: 'batch.draft', subject: {} }],
    [['erasures', 'list'], erasure],
    [['corrections', 'list'], { correction_id: id, fields: [] }],
    [['queues', 'list'], { dead_letter_id: id, class: 'auth' }],
    [['batches', 'items', id], { event_id: id, destination: 'crm', state: 'open' }],
    [['reconcile', 'runs'], { run_id: id, counts: null, calls: 0 }],
    [['reconcile', 'diff'], { discrepancy_id: id, class: 'missing', state: 'repaired', fields: [] }],
  ])('%j ends with how to go on, and without that on the last', async (words, item) => {
    rig.answers = [{ body: { items: [item], next: 'the-next' } }, { body: { items: [item] } }];
    expect(await rig.run(...words)).toBe(0);
    expect(rig.printed.trimEnd().split('\n').at(-1)).toMatch(/^more: --after the-next/);
    rig.printed = '';
    expect(await rig.run(...words)).toBe(0);
    expect(rig.printed).not.toContain('more:');
  });

  it('takes how long a page of batches is', async () => {
    rig.answers = [{ body: { items: [] } }];
    await rig.run('batches', 'list', '--limit', '200', '--state', 'paused');
    expect(rig.asked).toMatchObject([{ url: '/v1/batches?state=paused&limit=200' }]);
  });
});

describe('erasures list', () => {
  it('prints what the service says of each: who asked, who approved, how far it is', async () => {
    const late = { ...erasure, state: 'draft', approver: null, approved_at: null };
    rig.answers = [{ body: { items: [erasure, late] } }];
    expect(await rig.run('erasures', 'list', '--state', 'tasks')).toBe(0);
    expect(rig.asked).toMatchObject([{ url: '/v1/erasures?state=tasks' }]);
    expect(rig.printed).toMatch(/ERASURE_ID +STATE +SUBJECT +AUTHOR +APPROVER +CREATED_AT/);
    expect(rig.printed).toMatch(/tasks +email +olga +adam +2026-06-01T12:00:00\.000Z +2026-06-01T13:00:00\.000Z/);
    expect(rig.printed).toMatch(/draft +email +olga +2026-06-01T12:00:00\.000Z +expires 2026-06-02/);
  });
});

describe('while a service is away', () => {
  const found = { kind: 'event_id', event_id: id, organization: 'demo', source: 'website', state: 'delivered' };

  it.each<[string, object[], string[], number]>([
    ['it knows nothing, and nobody is away', [], [], 3],
    ['it found nothing where somebody is away', [], ['intake'], 4],
    ['it found something all the same', [found], ['crm-writer'], 0],
  ])('search says that %s', async (_, items, unavailable, code) => {
    rig.answers = [{ body: { items, unavailable } }];
    expect(await rig.run('search', id)).toBe(code);
    expect(rig.printed.includes('no lead is known by this')).toBe(code === 3);
    for (const service of unavailable) expect(rig.printed).toContain(`${service} does not answer`);
  });

  it('lead show says whose part is missing', async () => {
    const summary = { what_happened: 'It waits.', next: 'x', who: 'y', seen_by_customer: '', seen_by_sales: '' };
    rig.answers = [{ body: { event_id: id, summary, deliveries: [], events: [], unavailable: ['notifier'] } }];
    expect(await rig.run('lead', 'show', id)).toBe(0);
    expect(rig.printed).toContain('notifier does not answer');
  });
});

describe('lead show', () => {
  it('says of a delivery why it waits until then, and of a call what was answered, by which request, how fast', async () => {
    const summary = { what_happened: 'It waits.', next: 'x', who: 'y', seen_by_customer: '', seen_by_sales: '' };
    const delivery = { service: 'crm-writer', destination: 'crm', state: 'waiting', class: 'throttled', code: 'http_429' };
    const attempt = { at: '2026-06-01T12:00:00Z', kind: 'attempt', title: 'Written', service: 'crm-writer', destination: 'crm', number: 2 };
    rig.answers = [
      {
        body: {
          event_id: id,
          summary,
          deliveries: [{ ...delivery, next_attempt_at: '2026-06-01T12:05:00Z', why: 'The destination asked to wait' }],
          events: [
            {
              ...attempt,
              outcome: 'throttled',
              class: 'throttled',
              code: 'http_429',
              status: 429,
              provider_request_id: 'req-7',
              duration_ms: 321,
            },
          ],
          unavailable: [],
        },
      },
    ];
    expect(await rig.run('lead', 'show', id)).toBe(0);
    expect(rig.printed).toMatch(/12:05:00Z +crm-writer crm +waiting throttled http_429: The destination asked to wait/);
    expect(rig.printed).toMatch(/Written +crm #2 throttled http_429 status 429 request req-7 321 ms/);
  });
});

describe('what a group cannot show', () => {
  const hold = { by: 'ada', reason: 'maintenance' };
  const blocked = [
    { destination: 'crm', reason: 'hold', hold, unclaimed: { count: 90 } },
    { destination: 'erp', reason: 'failing', unclaimed: { count: 7, at_most: true } },
    { destination: 'old', reason: 'auth', unclaimed: { unknown: 'kafka_away' } },
    { destination: 'own', reason: 'auth', unclaimed: { count: 0 } },
    { destination: 'sales', reason: 'hold', hold },
  ];

  it.each(['list', 'groups'])('stands below `queues %s` of what is held: never as if nothing were', async (what) => {
    rig.answers = [{ body: { as_of: 'then', items: [], blocked } }];
    expect(await rig.run('queues', what, '--tab', 'held')).toBe(0);
    expect(rig.printed).not.toContain('no dead letters');
    for (const line of [
      'crm is held by ada: maintenance; 90 leads lie on its topic, taken up by nobody',
      'erp is not sent to (failing); at most 7 leads lie on its topic',
      'old is not sent to (auth); how many leads lie on its topic is unknown (kafka_away)',
      'own is not sent to (auth); nothing lies on its topic',
      'sales is held by ada: maintenance; what lies on its topic is not counted',
    ]) {
      expect(rig.printed).toContain(line);
    }
    rig.answers = [{ body: { as_of: 'then', items: [], blocked: [] } }];
    await rig.run('queues', what, '--tab', 'held');
    expect(rig.printed).toContain('no dead letters');
  });

  it('is what a service that does not answer knows alone', async () => {
    rig.answers = [{ body: { items: [], unavailable: ['crm-writer'] } }];
    expect(await rig.run('queues', 'list', '--tab', 'uncertain')).toBe(0);
    expect(rig.printed).toContain('crm-writer does not answer');
  });
});

describe('doors of a person', () => {
  it('dismiss goes over REST as whoever is named, who need not be said again', async () => {
    const words = ['dead-letters', 'dismiss', id, '--reason', 'handed over', '--as', 'operator'];
    rig.answers = [{ body: { dismissed: true, outcome: 'row_gone' } }, { body: { dismissed: false, outcome: 'delivery_decides' } }];
    expect(await rig.run(...words)).toBe(0);
    expect(await rig.run(...words)).toBe(3);
    const request = { method: 'POST', url: `/v1/dead-letters/${id}/dismiss`, token: 'tok-operator', body: { reason: 'handed over' } };
    expect(rig.asked).toEqual([request, request]);
    expect(rig.printed).toContain('it closes by what becomes of its delivery');
  });

  it('items approve goes over REST as whoever is named', async () => {
    const words = ['items', 'approve', '--class', 'auth', '--event-id', id, '--deadline', '4h', '--reason', 'mended', '--as', 'approver'];
    const items = [{ event_id: id, destination: 'crm', verdict: 'approved' }];
    rig.answers = [{ body: { batch_id: id, approved: 1, deadline_at: 'then', items } }, { body: { approved: 0, items: [] } }];
    expect(await rig.run(...words)).toBe(0);
    expect(rig.asked).toEqual([
      {
        method: 'POST',
        url: '/v1/items/approve',
        token: 'tok-approver',
        body: { reason: 'mended', new_deadline: '4h', max: 50, select: { class: 'auth', event_ids: [id] } },
      },
    ]);
    expect(rig.printed).toMatch(/1 approved, new deadline then/);
    expect(await rig.run(...words)).toBe(3);
    expect(rig.printed).toContain('no open dead letter fits');
  });
});

describe('what a draft is made of', () => {
  it('can be a source and windows of time', async () => {
    const [from, to] = ['2026-06-01T00:00:00Z', '2026-06-02T00:00:00Z'];
    const windows = ['--submitted-from', from, '--submitted-to', to, '--dead-from', from, '--dead-to', to];
    rig.answers = [{ body: { batch_id: id, items: 3 } }];
    expect(await rig.run('batches', 'draft', '--source', 'website', ...windows, '--reason', 'the outage is over')).toBe(0);
    const filter = { source: 'website', submitted_from: from, submitted_to: to, dead_from: from, dead_to: to };
    expect(rig.asked).toMatchObject([{ url: '/v1/batches', body: { filter, reason: 'the outage is over' } }]);
  });
});
