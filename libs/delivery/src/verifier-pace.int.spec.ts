import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../../../test/support/delivery-rig.js';
import { insertDelivery, openSweepRig, type SweepRig, sweptTarget, verifierOf } from '../../../test/support/sweep-rig.js';
import type { LookupResult } from './outcome.js';
import type { VerifiedTarget } from './swept-target.js';
import type { Verifier, VerifierOptions } from './verifier.js';

/** No second round ever comes by the clock. */
const everyMs = 2 ** 31 - 1;
const found: LookupResult = { kind: 'found', ref: 'R-1' };

describe('the pace of the verifier', () => {
  let rig: SweepRig;
  let verifier: Verifier | undefined;
  let asked: string[] = [];
  let [inFlight, most] = [0, 0];
  let answers: (() => void)[] = [];

  beforeAll(async () => {
    rig = await openSweepRig('verifier_pace');
  });
  afterAll(() => rig.close());
  afterEach(async () => {
    for (const answer of answers) answer();
    await verifier?.stop();
    await rig.clear();
    asked = [];
    answers = [];
    [inFlight, most] = [0, 0];
  });

  const target = (name: string, more: Partial<VerifiedTarget> = {}): VerifiedTarget =>
    sweptTarget({
      name,
      lookup: async () => {
        asked.push(name);
        most = Math.max(most, ++inFlight);
        await new Promise((resolve) => setImmediate(resolve));
        inFlight--;
        return found;
      },
      ...more,
    });
  const start = (targets: VerifiedTarget[], more: Partial<VerifierOptions> = {}): void => {
    const byName = new Map(targets.map((one) => [one.name, one]));
    verifier = verifierOf(rig.db, target('none'), { target: (destination) => byName.get(destination), everyMs, ...more });
    verifier.start();
  };
  const insert = (destination: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        insertDelivery(rig.db, {
          destination,
          state: 'uncertain',
          dueInMs: 0,
          operations: [{ kind: 'lead', state: 'uncertain', attempts: 1, sendingAgoMs: 0 }],
        }),
      ),
    );
  const delivered = async (destination: string): Promise<number> => {
    const sql = `SELECT count(*)::int AS count FROM delivery WHERE destination = $1 AND state = 'delivered'`;
    return (await rig.db.sql<{ count: number }>('rig.delivered', sql, [destination]))[0]?.count ?? 0;
  };

  it.each([
    ['of a destination with places of its own', { served: ['rig'] }, 3],
    ['of destinations that share them', {}, 8],
  ])('is that of its lookups: what is due %s is looked up without waiting for the next round', async (_name, more, atOnce) => {
    await insert('rig', 50);
    start([target('rig', { lookupsAtOnce: 3 })], more);
    await until('all are delivered', async () => (await delivered('rig')) === 50);
    expect(asked).toHaveLength(50);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(atOnce);
  });

  it('is of each destination its own: one that does not answer keeps its own places only', async () => {
    await insert('hangs', 20);
    await insert('works', 20);
    const hangs = target('hangs', {
      lookupsAtOnce: 4,
      lookup: () => {
        asked.push('hangs');
        return new Promise((resolve) => answers.push(() => resolve(found)));
      },
    });
    start([hangs, target('works')], { served: ['hangs', 'works'] });
    await until('the other is done', async () => (await delivered('works')) === 20);
    expect(asked.filter((name) => name === 'hangs')).toHaveLength(4);
    expect(await delivered('hangs')).toBe(0);
  });

  it('slows down where a lookup is not admitted: no other row of that destination is taken before the next round', async () => {
    await insert('short', 20);
    await insert('works', 20);
    let refused = 0;
    const lookups = {
      admit: () => {
        refused++;
        return Promise.resolve(false);
      },
      throttled: () => undefined,
    };
    start([target('short', { lookups, lookupsAtOnce: 2 }), target('works')], { served: ['short', 'works'] });
    await until('the other is done', async () => (await delivered('works')) === 20);
    expect(refused).toBe(2);
  });

  it('leaves rows of destinations that it does not serve where they are', async () => {
    await insert('elsewhere', 1);
    await insert('rig', 1);
    start([target('rig')], { served: ['rig'] });
    await until('its own is done', async () => (await delivered('rig')) === 1);
    const rows = await rig.db.sql('rig.leased', `SELECT lease_until FROM delivery WHERE destination = 'elsewhere'`, []);
    expect(rows).toEqual([{ lease_until: null }]);
  });
});
