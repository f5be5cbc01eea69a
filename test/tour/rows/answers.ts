import { sum } from '../facts.js';
import { accepted, type Form, newLead, readEffects, routes } from '../leads.js';
import type { Lane, TourRow, UnderWay } from '../tour-row.js';

/** What one lead meets: a rule of the sandbox, without name and campaign. */
type Fault = Record<string, unknown>;

interface AnswerRow extends Pick<TourRow, 'id' | 'fault' | 'expected' | 'limitMs'> {
  form: Form;
  /** One lead for each. */
  faults: readonly Fault[];
  lane?: Lane;
}

/** A row in which a CRM answers single leads wrongly, or not at all. */
function answerRow({ form, faults, lane = 'leads', ...row }: AnswerRow): TourRow {
  return {
    ...row,
    lane,
    async begin({ world, campaign, rule, ...scene }): Promise<UnderWay> {
      const crm = world.crm(routes[form].crm);
      const campaigns = faults.map((_, n) => `${campaign}-v${n}`);
      await Promise.all(faults.map((fault, n) => crm.rule({ name: rule, operation: 'lead', campaign: campaigns[n], ...fault })));
      const leads = await Promise.all(
        campaigns.map((own, n) => accepted(world, newLead({ world, campaign: own, rule, ...scene }, form, n))),
      );
      return { read: () => readEffects(world, form, leads), hits: () => crm.hits(rule) };
    },
  };
}

const once = (fault: Fault): Fault => ({ times: 1, ...fault });

export const answerRows: TourRow[] = [
  answerRow({
    id: 'temporary-failure',
    lane: 'door',
    fault: 'the CRM answers 503 once',
    form: 'tour-door',
    faults: [once({ status: 503 })],
    expected: { outcome: 'delivered', records: 1, requests: 2 },
  }),
  answerRow({
    id: 'exhausted-retries',
    lane: 'door',
    fault: 'the CRM answers 503 to every attempt',
    form: 'tour-door',
    faults: [{ status: 503 }],
    expected: { outcome: 'dead (attempts_exhausted)', records: 0, requests: 4 },
  }),
  answerRow({
    id: 'slow-response',
    fault: 'the CRM takes 2 s, within the limit of 3 s',
    form: 'tour-crm',
    faults: [once({ latencyMs: 2_000 })],
    expected: { outcome: 'delivered', records: 1, requests: 1 },
  }),
  answerRow({
    id: 'timeout-after-acceptance',
    fault: 'the CRM writes the lead and never answers',
    form: 'tour-crm',
    faults: [once({ hang: true })],
    expected: { outcome: 'delivered', records: 1, requests: 1 },
  }),
  answerRow({
    id: 'late-response',
    fault: 'the CRM writes the lead and answers after we gave up',
    form: 'tour-crm',
    faults: [once({ latencyMs: 4_500 })],
    expected: { outcome: 'delivered', records: 1, requests: 1 },
  }),
  answerRow({
    id: 'dropped-connection',
    fault: 'the connection is reset before the write, and after it',
    form: 'tour-crm',
    faults: [once({ reset: 'before' }), once({ reset: 'after' })],
    expected: { outcome: '2 delivered', records: 2, requests: 3 },
  }),
  answerRow({
    id: '4xx',
    fault: 'refused with 400, 403, 404, 409, 413 and 422',
    form: 'tour-crm',
    faults: [400, 403, 404, 409, 413, 422].map((status) => ({ status })),
    expected: {
      outcome: '1 dead (auth), 1 dead (conflict), 1 dead (oversize), 3 dead (permanent)',
      records: 0,
      requests: 6,
    },
  }),
  answerRow({
    id: '5xx',
    fault: '500 and 504 after the write, 502 and 503 instead of it',
    form: 'tour-crm',
    faults: [500, 502, 503, 504].map((status) => once({ status, dropCommit: status === 502 || status === 503 })),
    expected: { outcome: '4 delivered', records: 4, requests: 6 },
  }),
  {
    id: '200-without-commit',
    lane: 'leads',
    fault: 'the CRM says 201 and writes nothing',
    expected: { outcome: 'delivered', records: 0, requests: 1, compared: 'missing' },
    async begin({ world, campaign, rule, ...scene }) {
      const { crm: name, destination } = routes['tour-crm'];
      const crm = world.crm(name);
      await crm.rule({ name: rule, operation: 'lead', campaign, ...once({ dropCommit: true }) });
      const lead = await accepted(world, newLead({ world, campaign, rule, ...scene }, 'tour-crm'));
      return {
        read: async () => {
          // Two comparisons tell, a search lag apart; once it is known nobody asks again.
          if ((await world.differences(lead.eventId)).length === 0) await world.compare(campaign, destination);
          const differences = await world.differences(lead.eventId);
          return { ...(await readEffects(world, 'tour-crm', [lead])), compared: differences.join(', ') || 'nothing' };
        },
        hits: () => crm.hits(rule),
      };
    },
  },
  answerRow({
    id: 'invalid-event-not-retried',
    fault: 'the CRM refuses three leads with 422 for as long as they are sent',
    form: 'tour-crm',
    faults: [{ status: 422 }, { status: 422 }, { status: 422 }],
    expected: { outcome: '3 dead (permanent)', records: 0, requests: 3 },
  }),
  {
    id: 'protected-field',
    lane: 'leads',
    fault: 'the lead would overwrite a field that only people may write',
    expected: { outcome: 'dead (protected_field)', records: 0, requests: 0 },
    async begin(scene) {
      const lead = newLead(scene, 'tour-crm', 0, { custom: { account_manager: 'somebody else' } });
      const leads = [await accepted(scene.world, lead)];
      return {
        read: () => readEffects(scene.world, 'tour-crm', leads),
        hits: async () => sum(await Promise.all(leads.map(({ eventId }) => callsOf(scene.world, eventId)))),
      };
    },
  },
  {
    id: 'unverified-write',
    lane: 'leads',
    fault: 'the CRM never answers, and cannot be asked what it holds',
    expected: { outcome: 'uncertain (unverified_write)', records: 1, requests: 1, dead_letter: 'unverified_write' },
    async begin({ world, campaign, rule, ...scene }) {
      const crm = world.crm('blind');
      await crm.rule({ name: rule, operation: 'lead', campaign, times: 1, hang: true });
      const lead = await accepted(world, newLead({ world, campaign, rule, ...scene }, 'tour-blind'));
      return {
        read: async () => ({
          ...(await readEffects(world, 'tour-blind', [lead])),
          dead_letter: (await world.deadLetter(lead.eventId)) ?? 'none',
        }),
        hits: () => crm.hits(rule),
      };
    },
  },
];

/** Attempts that the writer recorded: the fault is met there, before anything is sent. */
async function callsOf(world: Parameters<typeof readEffects>[0], eventId: string): Promise<number> {
  return (await world.recordedCalls(eventId, 'tour-crm')).length;
}
