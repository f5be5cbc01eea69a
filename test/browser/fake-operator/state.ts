import { randomUUID } from 'node:crypto';
import type {
  AuditEntry,
  Batch,
  BatchItem,
  Correction,
  DeadLetter,
  DestinationState,
  Erasure,
  LetterGroup,
  Me,
  Overview,
  Timeline,
} from '../../../apps/console/src/api/types.js';

import { FakeReconciliation } from './reconciliation.js';

const minute = 60_000;
const hour = 60 * minute;
const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();

export const leadId = '019a2b3c-0000-7000-8000-00000000c0de';
const script = '<img src=x onerror="globalThis.broken=1"><script>globalThis.broken=1</script>';

const person = (subject: string, role: Me['roles'][number], permissions: Me['permissions']): Me => ({
  subject,
  name: subject.charAt(0).toUpperCase() + subject.slice(1),
  roles: [role],
  permissions,
  organizations: '*',
  refused: permissions.includes('replay_approve')
    ? {}
    : { replay_approve: 'This needs the permission replay_approve, which the roles approver, admin have' },
});

/** Who signs in, by token. */
export const people: Readonly<Record<string, Me>> = {
  'viewer-token-0001': person('vera', 'viewer', ['list']),
  'operator-token-01': person('olga', 'operator', ['list', 'reveal', 'replay_request', 'configure']),
  'approver-token-01': person('ada', 'approver', ['list', 'replay_approve', 'delete']),
  'admin-token-00001': person('root', 'admin', ['list', 'reveal', 'replay_request', 'replay_approve', 'delete', 'configure']),
};

type Letter = Exclude<DeadLetter, { state: 'held' | 'uncertain' }> & { tab: string };

function letter(index: number, more: Partial<Letter> = {}): Letter {
  const age = (index + 1) * 7 * minute;
  return {
    dead_letter_id: `019a2b3c-1111-7000-8000-${String(index).padStart(12, '0')}`,
    tab: 'dead',
    state: 'open',
    service: 'crm-writer',
    event_id: index === 0 ? leadId : `019a2b3c-2222-7000-8000-${String(index).padStart(12, '0')}`,
    destination: 'sandbox-crm',
    lead_ref: randomUUID(),
    organization: 'demo',
    source: 'website',
    form: 'contact',
    test: false,
    class: 'attempts_exhausted',
    code: 'http_503',
    status: 503,
    attempts: 4,
    submitted_at: ago(age),
    owner: 'integration',
    disposition: 'approve_replay',
    respond_by: ago(age - 2 * hour),
    next_action: 'See whether the destination is back, then replay.',
    runbook: 'docs/runbooks/attempts-exhausted.md',
    age_ms: age,
    retention_ms_left: 900 * hour,
    closed_as: null,
    closed_at: null,
    campaign: null,
    submission_ref: null,
    operation_key: null,
    operation_kind: 'lead',
    endpoint: null,
    schema_id: 4,
    reference: null,
    provider_request_id: null,
    trace_id: null,
    first_seen_at: ago(age),
    deadline_at: null,
    dead_at: ago(age),
    received_at: ago(age),
    delete_after: ago(-900 * hour),
    found_by: 'dlq',
    group_key: randomUUID(),
    assignee: index === 1 ? 'olga' : null,
    note_count: index === 1 ? 1 : 0,
    ...more,
  };
}

const letters = (): Letter[] => [
  ...Array.from({ length: 60 }, (_, index) => letter(index)),
  ...Array.from({ length: 3 }, (_, index) =>
    letter(70 + index, { class: 'auth', code: 'invalid_token', status: 401, destination: 'sandbox-marketing' }),
  ),
  letter(80, { tab: 'uncertain', class: 'unverified_write', code: null, status: null }),
];

const noCounts = { approved: 0, sent: 0, succeeded: 0, failed: 0, uncertain: 0, ended: 0, stopped: 0, not_applied: 0, skipped: 0, open: 0 };

function newBatch(author: string, selection: Record<string, unknown>, items: number): Batch {
  return {
    batch_id: randomUUID(),
    state: 'draft',
    hash: 'a'.repeat(64),
    author,
    edited_by: null,
    approver: null,
    approved_by: null,
    policy: 'second_person',
    reason: 'The CRM is back',
    selection,
    caps: { max: 1_000, rate_per_s: 20, concurrency: 50, max_duration_ms: 10 * minute, new_deadline_ms: 4 * hour },
    counts: { items, eligible: 0, ...noCounts },
    verdicts: {},
    canary: { size: 0, ended: 0, verified: 0, lookups: 0 },
    created_at: ago(0),
    checked_at: null,
    approved_at: null,
    approval_expires_at: null,
    began_at: null,
    running_at: null,
    not_after: null,
    deadline_at: null,
    ended_at: null,
    ended_by: null,
    rate_now: 0,
    progress: 0,
  };
}

const at = (left: number) => ago(left * minute);

const timeline = (): Timeline => ({
  event_id: leadId,
  lead_ref: 'ref-1',
  organization: 'demo',
  source: 'website',
  form: 'contact',
  campaign: 'autumn',
  submitted_at: at(9),
  accepted_at: at(9),
  deadline_at: at(-240),
  owner: 'ada',
  test: false,
  masked: { name: 'M… O…', email: 'm…@example.test', phone: '+1202…01' },
  summary: {
    what_happened:
      'The lead was accepted 9 minutes ago and reached marketing, but the CRM has not confirmed its contact: the last call ended without an answer.',
    next: 'The CRM is asked whether it holds the contact before anything is sent again.',
    when: at(-1),
    who: 'Nobody has to act yet; integration if it stays uncertain for an hour.',
    seen_by_customer: 'The confirmation page of the form.',
    seen_by_sales: 'A message in the sales chat that a lead has come, without a link to the CRM yet.',
  },
  deliveries: [
    {
      service: 'crm-writer',
      destination: 'sandbox-crm',
      generation: 1,
      state: 'uncertain',
      class: 'unverified_write',
      code: 'timeout',
      next_attempt_at: at(-1),
      why: 'A lookup comes first, since the write may have happened.',
      operations: [
        { operation_key: `${leadId}~sandbox-crm~contact`, kind: 'contact', state: 'uncertain', attempts: 2 },
        { operation_key: `${leadId}~sandbox-crm~lead`, kind: 'lead', state: 'waiting', attempts: 0 },
      ],
    },
    {
      service: 'crm-writer',
      destination: 'sandbox-marketing',
      generation: 1,
      state: 'delivered',
      operations: [
        { operation_key: `${leadId}~sandbox-marketing~contact`, kind: 'contact', state: 'succeeded', ref: 'mk-1001', attempts: 1 },
      ],
    },
  ],
  events: [
    { at: at(9), kind: 'accepted', title: 'Accepted from website', service: 'intake', trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' },
    {
      at: at(8.9),
      kind: 'announced',
      service: 'intake',
      title: 'Announced to the destinations',
      topic: 'lead.accepted',
      partition: 3,
      offset: '1842',
    },
    {
      at: at(8.8),
      kind: 'attempt',
      service: 'crm-writer',
      title: 'Contact written',
      destination: 'sandbox-marketing',
      number: 1,
      outcome: 'succeeded',
      status: 201,
      duration_ms: 84,
    },
    {
      at: at(8.7),
      kind: 'attempt',
      service: 'crm-writer',
      title: 'Contact sent',
      destination: 'sandbox-crm',
      number: 1,
      outcome: 'waiting',
      status: 503,
      code: 'http_503',
      duration_ms: 211,
      provider_request_id: 'req-77',
    },
    {
      at: at(3),
      kind: 'attempt',
      service: 'crm-writer',
      title: 'Contact sent again',
      destination: 'sandbox-crm',
      number: 2,
      outcome: 'uncertain',
      class: 'unverified_write',
      code: 'timeout',
      duration_ms: 2_000,
    },
    { at: at(2.9), kind: 'ended', service: 'notifier', title: 'Sales were told that a lead has come', by: 'notifier' },
  ],
  dead_letters: [],
  notifications: [],
  replays: [],
  trace_id: null,
  vault: { state: 'kept', revision: 1, consent_withdrawn_at: null, delete_after: at(-100_000) },
  supersedes: null,
  superseded_by: [],
  unavailable: [],
});

function destinations(): DestinationState[] {
  const count = 400;
  const latency = {
    connect: { p50: 2, p95: 5, p99: 9, count },
    first_byte: { p50: 60, p95: 180, p99: 1_700, count },
    total: { p50: 66, p95: 210, p99: 1_820, count },
    by_hour: series(6, hour, (index) => ({ p50: 60 + index, p95: 200 + index * 3, p99: 900 + index * 30, count })),
  };
  const common = { service: 'crm-writer', configured: true, cool_downs: 0, concurrency: 16, latency, test: { possible: true } };
  const timeouts = { connect_ms: 1_000, write_ms: 500, first_byte_ms: 2_000, read_ms: 2_000, total_ms: 10_000, lookup_ms: 2_000 };
  return [
    {
      ...common,
      destination: 'sandbox-crm',
      mode: 'flowing',
      breaker: 'closed',
      quota: { requests: 100, per_ms: minute, limit: 100, left: 82 },
      timeouts,
      backlog: { waiting: 12, held: 0, uncertain: 1, unclaimed: { count: 0 }, oldest_at: ago(9 * minute) },
      drain: { left: 12, rate_per_s: 4, eta_s: 3, total: 40 },
    },
    {
      ...common,
      destination: 'sandbox-marketing',
      mode: 'blocked',
      reason: 'hold',
      hold: { by: 'olga', reason: 'Their key is being changed', since: ago(hour) },
      breaker: 'open',
      timeouts,
      backlog: { waiting: 0, held: 3, uncertain: 0, unclaimed: { count: 12, oldest_at: ago(50 * minute) }, oldest_at: ago(hour) },
    },
  ];
}

const series = <T>(count: number, stepMs: number, value: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => ({ at: ago((count - index) * stepMs), ...value(index) }));

/** Letters of the same are of one group. */
export const groupKey = (one: Pick<Letter, 'class' | 'destination' | 'code'>): string => `${one.class}|${one.destination}|${one.code}`;

/** What the fake remembers. */
export class FakeState {
  revealForMs = 5 * minute;
  letters = letters();
  notes = [{ note_id: '1', at: ago(hour), by: 'olga', text: 'Asked their support, ticket 42' }];
  batches: Batch[] = [];
  destinations = destinations();
  reconciliation = new FakeReconciliation();
  audit: AuditEntry[] = [];
  person = { name: `Mia ${script}`, email: 'mia@example.test', phone: '+12025550101', message: script, custom: { budget: '10000' } };
  erasure: Erasure = {
    erasure_id: '019a2b3c-3333-7000-8000-000000000001',
    state: 'draft',
    kind: 'email',
    hash: 'b'.repeat(64),
    author: 'olga',
    approver: null,
    reason: 'Request 17',
    organizations: ['demo'],
    created_at: ago(hour),
    expires_at: ago(-hour),
    approved_at: null,
    erased_at: null,
    completed_at: null,
    subject_keys: [],
    more: false,
    leads: [{ event_id: leadId, lead_ref: 'ref-1', organization: 'demo' }],
    places: [
      { place: 'vault', before: 2, after: null, done: false },
      { place: 'search_hashes', before: 3, after: null, done: false },
    ],
    tasks: [
      {
        task_id: 't1',
        service: 'crm-writer',
        destination: 'sandbox-crm',
        kind: 'contact',
        ref: 'crm-2001',
        done: false,
        done_at: null,
        done_by: null,
      },
    ],
  };

  corrections: Correction[] = [
    {
      correction_id: '019a2b3c-4444-7000-8000-000000000001',
      state: 'draft',
      event_id: leadId,
      lead_ref: 'ref-1',
      destination: 'sandbox-crm',
      organization: 'demo',
      revision: 2,
      fields: ['name'],
      operations: [{ operation_key: `${leadId}~sandbox-crm~contact`, kind: 'contact', step: 'change', found: true, ref: 'crm-2001' }],
      hash: 'c'.repeat(64),
      author: 'olga',
      approver: null,
      reason: 'Misspelt on the form',
      created_at: ago(hour),
      expires_at: ago(-23 * hour),
      approved_at: null,
      sent_at: null,
      ended_at: null,
      class: null,
      code: null,
    },
  ];

  timeline = timeline;
  /** Moment of the groups that were answered last. */
  groupsAsOf = '';

  hits(text: string) {
    const one = {
      kind: text.includes('@') ? 'email' : 'event_id',
      organization: 'demo',
      source: 'website',
      form: 'contact',
      submitted_at: at(9),
      state: 'uncertain',
    };
    const hit = { ...one, event_id: leadId };
    return text.includes('@') ? [hit, { ...one, event_id: '019a2b3c-2222-7000-8000-000000000001', state: 'delivered' }] : [hit];
  }

  groups(tab: string): LetterGroup[] {
    const keys = [...new Set(this.letters.filter((one) => one.tab === tab).map(groupKey))];
    return keys.map((key) => {
      const of = this.letters.filter((one) => one.tab === tab && groupKey(one) === key);
      const first = of[0] as Letter;
      const { class: failure, destination, code, owner, respond_by, disposition, runbook, next_action } = first;
      const trend = Array.from({ length: 24 }, (_, index) => (index > 18 ? of.length : index % 5));
      return {
        key,
        class: failure,
        destination,
        code,
        schema_id: 4,
        count: of.length,
        first_at: ago(7 * hour),
        last_at: ago(7 * minute),
        trend,
        owner,
        respond_by,
        overdue: of.length > 10 ? of.length : 0,
        disposition,
        assignee: null,
        runbook,
        next_action,
        sample_event_ids: [],
      };
    });
  }

  overview(): Overview {
    return {
      as_of: ago(0),
      sampled_at: ago(0),
      counts: [
        { destination: 'sandbox-crm', state: 'delivered', count: 1_422 },
        { destination: 'sandbox-crm', state: 'dead', count: 60 },
        { destination: 'sandbox-crm', state: 'uncertain', count: 1 },
        { destination: 'sandbox-marketing', state: 'delivered', count: 1_480 },
        { destination: 'sandbox-marketing', state: 'held', count: 3 },
        { destination: 'sandbox-marketing', state: 'unclaimed', count: 12 },
      ],
      oldest: [{ destination: 'sandbox-crm', state: 'dead', age_ms: 7 * hour }],
      balance: {
        balanced: true,
        as_of: ago(minute),
        accepted: 2_966,
        delivered: 2_902,
        open: 4,
        dead: 60,
        expired: 0,
        discarded: 0,
        erased: 0,
        unaccounted: 0,
      },
      backlog: series(12, 5 * minute, (index) => ({
        waiting: Math.round(20 + 15 * Math.sin(index / 6)),
        held: index > 8 ? 3 : 0,
        unclaimed: index > 8 ? 4 * (index - 8) : 0,
        dead: Math.min(60, index * 10),
        open: index * 3,
        oldest_age_ms: index * 5 * minute,
      })),
      time_to_write: series(6, hour, (index) => ({
        measured: 40,
        p50: 300 + index * 5,
        p95: 900 + index * 20,
        p99: 2_000 + (index % 7) * 300,
      })),
      work_by_owner: [{ owner: 'integration', open: 63, overdue: 12, oldest_age_ms: 7 * hour }],
      recent_batches: this.batches.slice(0, 5),
      reconciliation: this.reconciliation.figures(),
    };
  }

  record(who: string, action: string, subject: Record<string, unknown>): void {
    const number = this.audit.length + 1;
    this.audit.push({ audit_id: String(number), seq: number, at: ago(0), person: who, caller: who, action, organization: 'demo', subject });
  }

  draft(author: string, body: Record<string, unknown>): Batch {
    const batch = newBatch(author, (body.filter ?? {}) as Record<string, unknown>, 60);
    this.batches.unshift(batch);
    this.record(author, 'batch.draft', { batch_id: batch.batch_id });
    return batch;
  }

  /** Letters of our own doing are closed; those with a delivery behind them are closed by that. */
  dismiss({ ids, group }: Record<string, unknown>): { dismissed: number; left: Record<string, number> } {
    const { key } = (group ?? {}) as { key?: string };
    const meant = new Set(
      this.letters.filter((one) => (ids as string[] | undefined)?.includes(one.dead_letter_id) ?? groupKey(one) === key),
    );
    const ours = [...meant].filter((one) => one.class === 'auth');
    this.letters = this.letters.filter((one) => !ours.includes(one));
    return { dismissed: ours.length, left: { delivery_decides: meant.size - ours.length, in_batch: 0, closed_before: 0 } };
  }

  edit(batch: Batch, by: string, { rate_per_s: rate = batch.caps.rate_per_s }: { rate_per_s?: number }): void {
    Object.assign(batch, { state: 'draft', edited_by: by, verdicts: {}, hash: 'e'.repeat(64), caps: { ...batch.caps, rate_per_s: rate } });
    this.record(by, 'batch.edit', { batch_id: batch.batch_id });
  }

  batch = (id: string): Batch | undefined => this.batches.find(({ batch_id: one }) => one === id);

  batchItems(id: string, outcome: string | undefined): BatchItem[] {
    const batch = this.batch(id);
    const items = this.letters.slice(0, 5).map(
      (one, index): BatchItem => ({
        item_id: randomUUID(),
        event_id: String(one.event_id),
        destination: 'sandbox-crm',
        service: 'crm-writer',
        organization: 'demo',
        position: index + 1,
        state: batch?.state === 'finished' ? 'succeeded' : 'listed',
        verdict: batch?.state === 'draft' ? null : index === 4 ? 'already_at_destination' : 'eligible',
        detail: null,
        letter_class: one.class,
        class: null,
        code: null,
        canary: index < 2,
        found: batch?.state === 'finished' && index < 2 ? 'one' : null,
        lookups: index < 2 ? 1 : 0,
        refs: {},
        operation_keys: [],
        duration_ms: null,
        sent_at: null,
        original_deadline_at: null,
        closed_at: null,
      }),
    );
    return items.filter(({ verdict, state }) => outcome === undefined || verdict === outcome || state === outcome);
  }

  command(id: string, what: string, by: string): void {
    const batch = this.batch(id);
    if (batch === undefined) return;
    this.record(by, `batch.${what}`, { batch_id: id });
    const counts = { ...batch.counts };
    if (what === 'dry-run')
      Object.assign(batch, {
        state: 'checked',
        checked_at: ago(0),
        verdicts: { eligible: 55, already_at_destination: 4, consent_withdrawn: 1 },
        counts: { ...counts, eligible: 55 },
      });
    if (what === 'approve')
      Object.assign(batch, {
        state: 'canary',
        approver: by,
        approved_at: ago(0),
        began_at: ago(0),
        counts: { ...counts, approved: 55, sent: 10, skipped: 5, open: 10 },
        canary: { size: 10, ended: 6, verified: 6, lookups: 6 },
        progress: 0.11,
      });
    if (what === 'pause') Object.assign(batch, { state: 'paused', paused_from: 'running', why: { code: 'by_person', detail: null } });
    if (what === 'resume') Object.assign(batch, { state: 'running', why: undefined });
    if (what === 'stop') Object.assign(batch, { state: 'stopped', stopped_by: by, why: { code: 'by_person', detail: null } });
  }

  /** The canary is verified, and the rest is sent. */
  finish(id: string): void {
    const batch = this.batch(id);
    if (batch)
      Object.assign(batch, {
        state: 'finished',
        ended_at: ago(0),
        progress: 1,
        counts: { ...batch.counts, sent: 55, succeeded: 55, open: 0 },
        canary: { size: 10, ended: 10, verified: 10, lookups: 10 },
      });
  }
}

export const fakeState = (): FakeState => new FakeState();
