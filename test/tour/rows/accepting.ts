import { accepted, newLead, readOutcome, stateIn } from '../leads.js';
import type { TourRow } from '../tour-row.js';
import type { IntakeAnswer, Lead, World } from '../world.js';

const countOf = (answers: readonly IntakeAnswer[], status: number): number => answers.filter((one) => one.status === status).length;

/** Different event ids among the answers that accepted something. */
function leadsOf(answers: readonly IntakeAnswer[]): Lead[] {
  const byId = new Map(answers.filter(({ status }) => status === 202).map(({ body }) => [String(body.event_id), String(body.lead_ref)]));
  return [...byId].map(([eventId, leadRef]) => ({ eventId, leadRef, sourceEventId: '' }));
}

async function readTold(world: World, leads: readonly Lead[]) {
  const told = await Promise.all(leads.map(({ leadRef }) => world.messages(leadRef)));
  return { ...(await readOutcome(world, 'contact', leads)), messages: told.reduce((total, one) => total + one, 0) };
}

/** The same lead so many times, one after another or at once. */
function repeated(row: Pick<TourRow, 'id' | 'fault'>, count: number, atOnce: boolean): TourRow {
  return {
    ...row,
    lane: 'leads',
    expected: { outcome: 'delivered', leads: 1, records: 1, messages: 1 },
    async begin(scene) {
      const { world } = scene;
      const post = () => world.post(newLead(scene, 'contact'));
      const answers: IntakeAnswer[] = [];
      if (atOnce) answers.push(...(await Promise.all(Array.from({ length: count }, post))));
      else for (let n = 0; n < count; n += 1) answers.push(await post());
      const leads = leadsOf(answers);
      return {
        read: async () => ({ ...(await readTold(world, leads)), leads: leads.length }),
        hits: async () => countOf(answers, 202) - 1,
      };
    },
  };
}

/** A record on the topic `leads` that has to be refused by name, before a good one that must not wait for it. */
function refusedRecord(
  row: Pick<TourRow, 'id' | 'fault'> & { refused: string; value(world: World, sourceEventId: string): Buffer },
): TourRow {
  const { refused, value, ...rest } = row;
  return {
    ...rest,
    lane: 'leads',
    expected: { outcome: 'delivered', refused_as: refused },
    async begin(scene) {
      const { world } = scene;
      const good = newLead(scene, 'contact');
      await world.produce([
        { key: scene.campaign, value: value(world, `${scene.campaign}-bad`) },
        { key: scene.campaign, value: world.encode(good) },
      ]);
      return {
        read: async () => ({
          outcome: stateIn(await world.journey({ sourceEventId: good.sourceEventId }), 'sandbox-crm'),
          refused_as: (await world.refusals(refused)) > 0 ? refused : 'nothing',
        }),
        hits: () => world.refusals(refused),
      };
    },
  };
}

export const acceptingRows: TourRow[] = [
  {
    id: 'valid',
    lane: 'leads',
    fault: 'none: a lead as it should be',
    expected: { outcome: 'delivered', records: 1, messages: 1 },
    async begin(scene) {
      const lead = await accepted(scene.world, newLead(scene, 'contact'));
      return {
        read: () => readTold(scene.world, [lead]),
        hits: () => scene.world.crm('crm').requests(lead.eventId),
      };
    },
  },
  repeated({ id: 'duplicate', fault: 'the same lead three times, one after another' }, 3, false),
  repeated({ id: 'concurrent-duplicates', fault: 'the same lead fifty times at once' }, 50, true),
  {
    id: 'conflict',
    lane: 'leads',
    fault: 'another lead under an id that was used',
    expected: { outcome: 'delivered', leads: 1, records: 1, refused: 1 },
    async begin(scene) {
      const { world } = scene;
      const first = await world.post(newLead(scene, 'contact'));
      const second = await world.post(newLead(scene, 'contact', 0, { message: 'Something else entirely.' }));
      const leads = leadsOf([first, second]);
      return {
        read: async () => ({ ...(await readOutcome(world, 'contact', leads)), leads: leads.length, refused: countOf([second], 422) }),
        hits: async () => countOf([first, second], 422),
      };
    },
  },
  {
    id: 'invalid',
    lane: 'leads',
    fault: 'a lead whose e-mail address is none',
    expected: { refused: 1, records: 0 },
    async begin(scene) {
      const { world } = scene;
      const answer = await world.post(newLead(scene, 'contact', 0, { email: 'no at sign' }));
      const ids = leadsOf([answer]).map(({ eventId }) => eventId);
      return {
        read: async () => ({ refused: countOf([answer], 422), records: await world.crm('crm').records(ids) }),
        hits: async () => countOf([answer], 422),
      };
    },
  },
  refusedRecord({
    id: 'malformed-payload',
    fault: 'bytes that are no Avro on the topic leads, a good lead behind them',
    refused: 'decode',
    value: () => Buffer.from('{"not":"avro"}'),
  }),
  refusedRecord({
    id: 'unknown-source',
    fault: 'a record of a source that nobody configured, a good lead behind it',
    refused: 'unknown_source',
    value: (world, sourceEventId) =>
      world.encode({ sourceEventId, form: 'contact', campaign: sourceEventId, person: 1 }, { source: 'nobody' }),
  }),
  {
    id: 'routing',
    lane: 'leads',
    fault: 'a form that no routing rule knows',
    expected: { outcome: 'dead (routing)', messages: 1 },
    async begin(scene) {
      const { world } = scene;
      const lead = await accepted(world, newLead(scene, 'nobody-routes-this'));
      const state = async () => stateIn(await world.journey({ eventId: lead.eventId }), 'unrouted');
      return {
        read: async () => ({ outcome: await state(), messages: await world.messages(lead.leadRef) }),
        hits: async () => ((await state()) === 'not known' ? 0 : 1),
      };
    },
  },
  {
    id: 'unknown-owner',
    lane: 'leads',
    fault: 'a form whose leads belong to nobody',
    expected: { outcome: 'delivered', records: 1, messages: 1, dead_letter: 'unknown_owner' },
    async begin(scene) {
      const { world } = scene;
      const lead = await accepted(world, newLead(scene, 'tour-nobody'));
      return {
        read: async () => ({
          ...(await readTold(world, [lead])),
          dead_letter: (await world.deadLetter(lead.eventId)) ?? 'none',
        }),
        hits: () => world.crm('crm').requests(lead.eventId),
      };
    },
  },
];
