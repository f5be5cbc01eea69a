import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { operationKey } from '#contracts';
import { createLogger } from '#runtime';
import { eventually } from '#testkit';
import {
  insertDelivery,
  openSweepRig,
  outcomesOf,
  rowOf,
  type SweepRig,
  sweptTarget,
  topicsOf,
  verifierOf,
} from '../../../test/support/sweep-rig.js';
import { commandRoute } from './delivery-commands.js';
import { type Mark, markSending } from './sql/leases.js';

describe('a record that is found when somebody has said meanwhile that it is not there', () => {
  let rig: SweepRig;
  const countsAfterMs = 60_000;

  beforeAll(async () => {
    rig = await openSweepRig('late_found');
  });
  afterAll(() => rig.close());
  afterEach(() => rig.clear());

  /** A delivery in doubt whose lookup finds its record; `meanwhile` happens before it answers. */
  async function found(
    meanwhile: (id: string) => Promise<unknown>,
    { native = false, kinds = ['lead'], older = false } = {},
  ): Promise<string> {
    const [first = 'lead', ...behind] = kinds;
    const id = await insertDelivery(rig.db, {
      state: 'uncertain',
      dueInMs: 0,
      operations: [
        { kind: first, state: 'uncertain', attempts: 1, sendingAgoMs: 0 },
        ...behind.map((kind) => ({ kind, state: 'pending' as const })),
      ],
    });
    await rig.advance(countsAfterMs);
    const target = sweptTarget({
      nativeIdempotency: native,
      ...(older && { older: () => 'change' as const }),
      lookup: async () => {
        await meanwhile(id);
        return { kind: 'found', ref: 'R-1' };
      },
    });
    await verifierOf(rig.db, target).verify();
    return id;
  }
  const absent = async (id: string): Promise<void> => {
    const command = commandRoute({
      db: rig.db,
      target: () => sweptTarget(),
      relayWake: () => undefined,
      logger: createLogger('rig', 'silent'),
    });
    const finding = { kind: 'absent' } as const;
    const said = {
      command: 'evidence',
      event_id: id,
      destination: 'rig',
      operation_key: operationKey(id, 'rig', 'lead'),
      finding,
    } as const;
    expect(await command({ ...said, by: 'ada', reason: 'searched' } as Parameters<typeof command>[0])).toMatchObject({ applied: true });
  };
  /** The claim of another process. */
  const claims = new Map<string, string>();
  const claimed = async (id: string): Promise<void> => {
    await absent(id);
    const attemptId = randomUUID();
    claims.set(id, attemptId);
    await rig.db.sql(
      'rig.claim',
      `UPDATE delivery SET state = 'in_flight', attempt_id = $2, lease_until = clock_now() + interval '30 s' WHERE event_id = $1`,
      [id, attemptId],
    );
    await rig.db.sql('rig.reopen', `UPDATE operation SET state = 'in_flight', attempt_id = $2 WHERE event_id = $1`, [id, attemptId]);
  };
  const marked = async (id: string): Promise<number> => {
    const work = { attemptId: claims.get(id), plan: { eventId: id, destination: 'rig' } } as unknown as Mark['work'];
    return (await markSending(rig.db, [{ work, operationKey: operationKey(id, 'rig', 'lead'), timeoutMs: 1_000 }])).size;
  };

  it('is not written again: what waits for that is done', async () => {
    const id = await found(absent);
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'delivered', operations: [{ state: 'succeeded', ref: 'R-1' }] });
    expect(await topicsOf(rig.db)).toEqual(['resolved', 'wake']);
    expect((await outcomesOf(rig.db)).sort()).toEqual(['evidence_absent', 'lookup_found']);
  });

  it('is not written again by a claim whose call has not begun: its mark is refused, and the rest of the delivery goes on', async () => {
    const id = await found(claimed, { kinds: ['lead', 'note'] });
    expect(await marked(id)).toBe(0);
    expect(await rowOf(rig.db, id)).toMatchObject({
      state: 'pending',
      operations: [
        { kind: 'lead', state: 'succeeded', ref: 'R-1' },
        { kind: 'note', state: 'pending' },
      ],
    });
    expect(await topicsOf(rig.db)).toEqual(['wake', 'wake']);
  });

  it("is known to the next claim of a contact, also where a parked one left nobody in the person's row", async () => {
    const parked = async (id: string): Promise<void> => {
      const waits = "state = 'waiting', attempt_id = NULL";
      await rig.db.sql('rig.park', `UPDATE delivery SET ${waits}, lease_until = NULL, record_key = 'v1:ada' WHERE event_id = $1`, [id]);
      await rig.db.sql('rig.parked', `UPDATE operation SET ${waits}, sending_at = NULL WHERE event_id = $1`, [id]);
      await rig.db.sql(
        'rig.person',
        `INSERT INTO contact_state (person_key, destination, updated_at) VALUES ('v1:ada', 'rig', clock_now())`,
        [],
      );
    };
    const id = await found(parked, { kinds: ['contact'], older: true });
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'waiting', operations: [{ state: 'waiting' }] });
    const persons = await rig.db.sql('rig.persons', 'SELECT person_key, contact_ref, owner_key, owner_fields FROM contact_state', []);
    expect(persons).toEqual([{ person_key: 'v1:ada', contact_ref: 'R-1', owner_key: null, owner_fields: null }]);
  });

  it.each([
    ['is marked: its call is out', false],
    ['has a native key: its call gets the first answer', true],
  ])('is noted where the claim %s', async (_, native) => {
    const id = await found(
      async (one) => {
        await claimed(one);
        if (!native) expect(await marked(one)).toBe(1);
      },
      { native },
    );
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'in_flight', operations: [{ state: 'in_flight', ref: null }] });
    expect(await rig.db.sql('rig.late', `SELECT destination_ref FROM attempt WHERE late`, [])).toEqual([{ destination_ref: 'R-1' }]);
  });

  it('waits for a mark that is being written, and yields to it', async () => {
    let verified: Promise<unknown> = Promise.resolve();
    const id = await insertDelivery(rig.db, {
      state: 'uncertain',
      dueInMs: 0,
      operations: [{ kind: 'lead', state: 'uncertain', attempts: 1, sendingAgoMs: 0 }],
    });
    await rig.advance(countsAfterMs);
    let answer: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      const target = sweptTarget({
        lookup: () =>
          new Promise((found) => {
            answer = () => found({ kind: 'found', ref: 'R-1' });
            resolve();
          }),
      });
      verified = verifierOf(rig.db, target).verify();
    });
    await asked;
    await claimed(id);
    await rig.db.transaction(async (tx) => {
      await tx.sql('rig.mark', `UPDATE operation SET sending_at = clock_now() WHERE event_id = $1`, [id]);
      answer();
      const waits = `SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid' AND transactionid = pg_current_xact_id()::xid`;
      const waited = async (): Promise<boolean> => (await tx.sql('rig.waits', waits, [])).length > 0;
      await eventually('the lookup to wait for the mark', waited);
    });
    await verified;
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'in_flight', operations: [{ state: 'in_flight', ref: null }] });
  });
});
