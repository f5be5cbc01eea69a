import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DestinationsAnswer, WaitingItem } from '#delivery';
import { openDelivery } from '../../../test/pretend-waiting.js';
import { leadAccepted } from '../../../test/rig.js';
import { unclaimedOwner } from './unclaimed-owner.js';

const hold = { by: 'ada', reason: 'maintenance', at: '2026-06-01T12:00:00.000Z' };
const beganMs = Date.UTC(2026, 5, 1);

/** What intake takes for unclaimed, the oldest first. */
let accepted: WaitingItem[];
let claimed: Set<string>;
let modes: Record<string, string>;
let asked: { destinations: string[] }[];

beforeEach(() => {
  accepted = Array.from({ length: 30 }, (_, n) =>
    openDelivery(leadAccepted({ submitted_at: new Date(beganMs + n) }), { state: 'accepted', destination: n % 2 === 0 ? 'crm' : 'erp' }),
  );
  [claimed, modes, asked] = [new Set(), { crm: 'blocked', erp: 'flowing' }, []];
});

const owner = () =>
  unclaimedOwner({
    intake: {
      post: (async (_path: string, body: { destinations: string[]; after?: { submitted_us: string }; limit: number }) => {
        asked.push(body);
        const fits = accepted.filter(({ destination }) => body.destinations.includes(destination));
        const behind = fits.filter(({ submitted_us }) => Number(submitted_us) > Number(body.after?.submitted_us ?? 0));
        return { items: behind.slice(0, body.limit) };
      }) as never,
    },
    writer: {
      destinations: async () => ({
        items: Object.entries(modes).map(
          ([destination, mode]) =>
            ({ destination, mode, reason: 'hold', hold, cool_downs: 0, as_of: hold.at }) as DestinationsAnswer['items'][number],
        ),
      }),
      states: async (names) => names.map(({ event_id }) => (claimed.has(event_id) ? ({ state: 'held' } as never) : undefined)),
    },
  });
const ids = (items: readonly WaitingItem[]) => items.map(({ event_id }) => event_id);
const ofCrm = () => ids(accepted.filter(({ destination }) => destination === 'crm'));

describe('what nobody has taken up', () => {
  it('is told of destinations that nothing is sent to, with why', async () => {
    const items = await owner().page('held', { limit: 50 });
    expect(ids(items)).toEqual(ofCrm());
    expect(items[0]).toMatchObject({ destination: 'crm', attempts: 0, reason: 'hold', hold });
    expect(asked).toMatchObject([{ destinations: ['crm'] }]);
  });

  it('is nothing of others, of what is uncertain, and where all is sent to', async () => {
    expect(await owner().page('held', { destination: 'erp', limit: 50 })).toEqual([]);
    expect(await owner().page('uncertain', { limit: 50 })).toEqual([]);
    modes.crm = 'ramping';
    expect(await owner().page('held', { limit: 50 })).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('leaves out what its owner has taken up, and still fills its page', async () => {
    claimed = new Set(ofCrm().slice(0, 9));
    expect(ids(await owner().page('held', { limit: 4 }))).toEqual(ofCrm().slice(9, 13));
  });
});
