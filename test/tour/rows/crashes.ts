import { groups, retryTopic, topics } from '#contracts';
import { tally } from '../facts.js';
import { accepted, handIn, newLead, reaches, readEffects, readOutcome, stateIn } from '../leads.js';
import type { TourRow } from '../tour-row.js';

/** The launcher's lease of 15 s, and as much again as its renewal may be late. */
const longerThanLeaseMs = 18_000;

export const crashRows: TourRow[] = [
  {
    id: 'worker-crash',
    lane: 'crash',
    fault: 'SIGKILL of the writer with ten leads claimed and under way',
    expected: { outcome: '10 delivered', records: 10, messages: 10 },
    limitMs: 90_000,
    async begin(scene) {
      const { world, campaign, rule } = scene;
      const crm = world.crm('crm');
      await crm.rule({ name: rule, operation: 'lead', campaign, times: 10, latencyMs: 1_900 });
      const leads = await handIn(scene, 'contact', 10);
      await reaches('a call under way', () => crm.hits(rule), 10);
      await world.killTogether('worker-crash');
      return {
        read: async () => {
          const told = await Promise.all(leads.map(({ leadRef }) => world.messages(leadRef)));
          return { ...(await readOutcome(world, 'contact', leads)), messages: told.reduce((total, one) => total + one, 0) };
        },
        hits: () => crm.hits(rule),
      };
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
      await crm.rule({ name: rule, operation: 'lead', campaign, times: 1, latencyMs: 1_900 });
      const leads = [await accepted(world, newLead(scene, 'tour-crm'))];
      const ids = leads.map(({ eventId }) => eventId);
      await reaches('the record', () => crm.records(ids));
      await world.killTogether('crash-after-write');
      return { read: () => readEffects(world, 'tour-crm', leads), hits: () => crm.hits(rule) };
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
      const crm = world.crm('door');
      await crm.rule({ name: rule, operation: 'lead', campaign, times: 1, status: 503, headers: { 'Retry-After': '12' } });
      const tier = retryTopic(topics.leadAccepted, groups.crmWriter('tour-door'), '15s');
      const before = await world.recordsOn(tier);
      const leads = [await accepted(world, newLead(scene, 'tour-door'))];
      await reaches('the fault', () => crm.hits(rule));
      await reaches('a retry record', () => world.recordsOn(tier), before + 1);
      const deleted = await world.deleteRecords(tier);
      await world.killTogether('lost-wake-up');
      return { read: () => readEffects(world, 'tour-door', leads), hits: async () => deleted };
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
      const before = tally([stateIn(await world.journey({ eventId: lead.eventId }), 'tour-crm')]);
      scene.say(`goes on; the lead is ${before}`);
      return { read: () => readEffects(world, 'tour-crm', [lead]), hits: () => crm.hits(rule) };
    },
  },
];
