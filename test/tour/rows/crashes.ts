import { groups, retryTopic, topics } from '#contracts';
import { accepted, handIn, newLead, reaches, readEffects, readOutcome } from '../leads.js';
import type { TourRow } from '../tour-row.js';
import type { Lead, World } from '../world.js';

/** As the launcher gives it to the services. */
const leaseMs = 15_000;
const longerThanLeaseMs = leaseMs + 3_000;

export const crashRows: TourRow[] = [
  {
    id: 'worker-crash',
    lane: 'crash',
    fault: 'SIGKILL of the writer with ten leads claimed, two of them sent and unanswered',
    expected: { outcome: '10 delivered', records: 10 },
    limitMs: 90_000,
    async begin(scene) {
      const { world, campaign, rule } = scene;
      const crm = world.crm('door');
      await crm.rule({ name: rule, operation: 'lead', campaign, times: 2, latencyMs: 4_500 });
      await world.turnBeforeKill('worker-crash', 4_500);
      const leads = await handIn(scene, 'tour-door', 10);
      await reaches('a call under way', () => crm.hits(rule), 2);
      await world.killTogether('worker-crash');
      return { read: () => readOutcome(world, 'tour-door', leads), hits: () => crm.unheard(rule) };
    },
  },
  {
    id: 'crash-after-write',
    lane: 'crash',
    fault: 'SIGKILL of the writer after the CRM wrote and before it answered',
    expected: { outcome: 'delivered', records: 1, requests: 1 },
    limitMs: 90_000,
    async begin(scene) {
      const { world, campaign, rule } = scene;
      const crm = world.crm('tour');
      await crm.rule({ name: rule, operation: 'lead', campaign, times: 1, latencyMs: 2_800 });
      await world.turnBeforeKill('crash-after-write', 2_800);
      const leads = [await accepted(world, newLead(scene, 'tour-crm'))];
      const ids = leads.map(({ eventId }) => eventId);
      await reaches('the record', () => crm.records(ids));
      await world.killTogether('crash-after-write');
      return { read: () => readEffects(world, 'tour-crm', leads), hits: () => crm.unheard(rule) };
    },
  },
  {
    id: 'lost-wake-up',
    lane: 'crash',
    fault: 'the retry record is deleted from its topic and the writer killed',
    expected: { outcome: 'delivered', records: 1, requests: 2 },
    limitMs: 120_000,
    async begin(scene) {
      const { world, campaign, rule } = scene;
      const crm = world.crm('crm');
      await crm.rule({ name: rule, operation: 'lead', campaign, times: 1, status: 503, headers: { 'Retry-After': '12' } });
      const tier = retryTopic(topics.leadAccepted, groups.crmWriter('sandbox-crm'), '15s');
      const before = await world.recordsOn(tier);
      const leads = [await accepted(world, newLead(scene, 'contact'))];
      await reaches('the fault', () => crm.hits(rule));
      await reaches('a retry record', () => world.recordsOn(tier), before + 1);
      const deleted = await world.deleteRecords(tier);
      if (deleted <= before) throw new Error('the retry record was not deleted');
      await world.killTogether('lost-wake-up');
      // Nothing else is late by so much: who wakes it is the sweeper of the process that follows.
      return { read: () => readEffects(world, 'contact', leads), hits: () => world.overdueWakeUps() };
    },
  },
  {
    id: 'lease-expiry',
    lane: 'freeze',
    fault: 'the writer stands still for 18 s with a call under way, longer than its lease',
    expected: { outcome: 'delivered', records: 1, requests: 1 },
    limitMs: 90_000,
    async begin(scene) {
      const { world, campaign, rule } = scene;
      const crm = world.crm('tour');
      await crm.rule({ name: rule, operation: 'lead', campaign, times: 1, latencyMs: 1_500 });
      const lead = await accepted(world, newLead(scene, 'tour-crm'));
      await reaches('the call', () => crm.hits(rule));
      await world.freezeWriter(longerThanLeaseMs);
      scene.say('goes on');
      return { read: () => readEffects(world, 'tour-crm', [lead]), hits: () => longCalls(world, lead) };
    },
  },
];

/** Calls that the writer's own record shows to have lasted longer than a lease. */
async function longCalls(world: World, { eventId }: Lead): Promise<number> {
  const calls = await world.recordedCalls(eventId, 'tour-crm');
  return calls.filter(({ duration_ms: ms }) => (ms ?? 0) > leaseMs).length;
}
