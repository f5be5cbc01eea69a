import { pause } from '#testkit';
import { atMost } from '../facts.js';
import { accepted, type Form, handIn, newLead, reaches, readEffects, readOutcome, readRequests, routes } from '../leads.js';
import type { Scene, TourRow } from '../tour-row.js';
import type { Lead, World } from '../world.js';

/** Calls that the writer recorded as failed without an answer. */
async function unanswered(world: World, form: Form, leads: readonly Lead[]): Promise<number> {
  const calls = await Promise.all(leads.map(({ eventId }) => world.recordedCalls(eventId, routes[form].destination)));
  return calls.flat().filter(({ status, outcome }) => (status ?? undefined) === undefined && outcome !== 'succeeded').length;
}

/** A destination that cannot be reached for as long as the lead is worth anything. */
function neverReached(row: Pick<TourRow, 'id' | 'fault'>, form: Form): TourRow {
  return {
    ...row,
    lane: 'leads',
    expected: { outcome: 'expired (deadline_exceeded)', records: 0 },
    async begin(scene) {
      const leads = [await accepted(scene.world, newLead(scene, form))];
      return { read: () => readOutcome(scene.world, form, leads), hits: () => unanswered(scene.world, form, leads) };
    },
  };
}

/** Breaks the whole CRM behind the door by a rule while so many leads come in, then mends it. */
async function whileBroken(
  scene: Scene,
  fault: Record<string, unknown>,
  { count, forMs }: { count: number; forMs: number },
): Promise<Lead[]> {
  const crm = scene.world.crm('door');
  await crm.rule({ name: scene.rule, ...fault });
  try {
    const leads = await handIn(scene, 'tour-door', count);
    await reaches('the fault', () => crm.hits(scene.rule));
    await pause(forMs);
    return leads;
  } finally {
    await crm.heal(scene.rule);
    scene.say('mended');
  }
}

/** Of ten leads: one that is taken for each, and six that are refused before everybody waits. */
const mostRequests = 10 + 6;

export const networkRows: TourRow[] = [
  {
    id: 'connect-failure',
    lane: 'door',
    fault: 'nobody listens where the CRM was, while five leads come in',
    expected: { outcome: '5 delivered', records: 5, requests: 5 },
    async begin(scene) {
      const { world } = scene;
      await world.door.refuse();
      try {
        const leads = await handIn(scene, 'tour-door', 5);
        await reaches('a failed call', () => unanswered(world, 'tour-door', leads));
        return { read: () => readEffects(world, 'tour-door', leads), hits: () => unanswered(world, 'tour-door', leads) };
      } finally {
        await world.door.heal();
        scene.say('the port is open again');
      }
    },
  },
  neverReached({ id: 'dns-failure', fault: 'the name of the CRM is never resolved, while the lead is of use (20 s)' }, 'tour-dns'),
  neverReached({ id: 'tls-delay', fault: 'the TLS handshake never ends, while the lead is of use (20 s)' }, 'tour-tls'),
  {
    id: 'rate-limit',
    lane: 'door',
    fault: '429 with Retry-After 3 s to everything, ten leads waiting',
    expected: { outcome: '10 delivered', records: 10, requests: atMost(mostRequests, 0) },
    async begin(scene) {
      const fault = { status: 429, headers: { 'Retry-After': '3' } };
      const leads = await whileBroken(scene, fault, { count: 10, forMs: 5_000 });
      const { world, rule } = scene;
      const requests = () => readRequests(world, 'tour-door', leads);
      return {
        read: async () => ({ ...(await readOutcome(world, 'tour-door', leads)), requests: atMost(mostRequests, await requests()) }),
        hits: () => world.crm('door').hits(rule),
      };
    },
  },
  {
    id: 'auth-failure',
    lane: 'door',
    fault: '401 to everything, the check call included, three leads waiting',
    expected: { outcome: '3 delivered', records: 3, requests: atMost(6, 0) },
    async begin(scene) {
      const leads = await whileBroken(scene, { status: 401 }, { count: 3, forMs: 4_000 });
      const { world, rule } = scene;
      const requests = () => readRequests(world, 'tour-door', leads);
      return {
        read: async () => ({ ...(await readOutcome(world, 'tour-door', leads)), requests: atMost(6, await requests()) }),
        hits: () => world.crm('door').hits(rule),
      };
    },
  },
  {
    id: 'recovery',
    lane: 'door',
    fault: 'the CRM answers 503 to everything for 5 s, thirty leads waiting',
    expected: { outcome: '30 delivered', records: 30 },
    async begin(scene) {
      const leads = await whileBroken(scene, { operation: 'lead', status: 503 }, { count: 30, forMs: 5_000 });
      const { world, rule } = scene;
      return { read: () => readOutcome(world, 'tour-door', leads), hits: () => world.crm('door').hits(rule) };
    },
  },
];
