import { groups, replayTopic, topics } from '#contracts';
import { accepted, newLead, reaches, readEffects, stateIn } from '../leads.js';
import type { Scene, TourRow } from '../tour-row.js';
import type { Lead } from '../world.js';

/** A lead that the CRM refused, mended there, and let through again by a person. Returns once the approval stands. */
async function replayed(scene: Scene): Promise<Lead> {
  const { world, campaign, rule, say } = scene;
  const crm = world.crm('crm');
  await crm.rule({ name: rule, operation: 'lead', campaign, status: 422 });
  const lead = await accepted(world, newLead(scene, 'contact'));
  await reaches('the refusal', async () => (stateIn(await world.journey(lead), 'sandbox-crm').startsWith('dead') ? 1 : 0));
  await reaches('its dead letter', async () => ((await world.deadLetter(lead.eventId)) === undefined ? 0 : 1));
  await crm.heal(rule);
  const approved = await world.approveReplay(lead.eventId, 'sandbox-crm');
  if (approved !== 1) throw new Error(`${approved} items were approved, not one`);
  say('dead, mended, and approved for replay');
  return lead;
}

export const replayRows: TourRow[] = [
  {
    id: 'replay-once',
    lane: 'replay',
    fault: 'a dead lead is approved and replayed',
    // Told once that it failed and once that it arrived.
    expected: { outcome: 'delivered', records: 1, requests: 2, messages: 2 },
    async begin(scene) {
      const { world, rule } = scene;
      const lead = await replayed(scene);
      return {
        read: async () => ({ ...(await readEffects(world, 'contact', [lead])), messages: await world.messages(lead.leadRef) }),
        hits: () => world.crm('crm').hits(rule),
      };
    },
  },
  {
    id: 'duplicate-replay',
    lane: 'replay',
    fault: 'the replay record comes twice, and a second approval is asked for',
    expected: { outcome: 'delivered', records: 1, requests: 2, approved_again: 0, messages: 2 },
    async begin(scene) {
      const { world } = scene;
      const lead = await replayed(scene);
      const { eventId } = lead;
      await reaches(
        'the delivery',
        async () => (stateIn(await world.journey({ eventId }), 'sandbox-crm') === 'delivered' ? 1 : 0),
        1,
        30_000,
      );
      const group = groups.crmWriter('sandbox-crm');
      const consumed = await world.repeatLastRecord(replayTopic(topics.leadAccepted, group), group);
      const approvedAgain = await world.approveReplay(eventId, 'sandbox-crm');
      return {
        read: async () => ({
          ...(await readEffects(world, 'contact', [lead])),
          approved_again: approvedAgain,
          messages: await world.messages(lead.leadRef),
        }),
        hits: consumed,
      };
    },
  },
];
