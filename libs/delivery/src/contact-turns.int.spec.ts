import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#runtime';
import { MortalDatabase, newEvents, openControl, type RigEvent, received, until } from '../../../test/support/delivery-rig.js';
import { deliveryWorld } from '../../../test/support/delivery-world.js';
import { createContacts } from './contacts/contacts.js';

describe('two leads of one person', () => {
  const world = deliveryWorld('contact_turns');

  it('make one contact where the database is late with what was said before the first was sent', async () => {
    const db = new MortalDatabase(world.db);
    const late: (() => void)[] = [];
    let settled = 0;
    db.intercept = async (name, run) => {
      if (name !== 'contact.settle') return run();
      // The first statement gets through long after its delivery was claimed again.
      if (late.length === 0) await new Promise<void>((resolve) => late.push(resolve));
      const rows = await run();
      settled++;
      return rows;
    };
    const contacts = createContacts({ db, logger: createLogger('turns', 'silent'), wakeTopic: () => 'wake', relayWake: () => undefined });
    const control = openControl();
    let refusals = 1;
    control.admitting = () => ({ kind: refusals-- > 0 ? 'blocked' : 'go' });
    const answers: (() => void)[] = [];
    world.crm.native = false;
    world.crm.behave = (_key, execute) => new Promise((resolve) => answers.push(() => resolve({ kind: 'succeeded', ref: execute() })));
    const [first, second] = newEvents(2).map((event) => ({ ...event, person: 'hash' })) as [RigEvent, RigEvent];
    const { take } = world.start({ kinds: ['contact'], contacts, control, tiers: true, timeoutMs: 5_000 });

    take([received(first)]);
    await until('it was given back, claimed again and is being sent', () => late.length === 1 && answers.length === 1);
    late[0]?.();
    await until('the late statement is through', () => settled === 1);
    take([received(second)]);
    await until('the second waits', async () => (await world.stateOf(second)) === 'waiting');
    expect(world.crm.requests).toHaveLength(1);

    answers[0]?.();
    await until('the second is being sent', () => answers.length === 2);
    answers[1]?.();
    await until('both are delivered', async () => (await world.states()).delivered === 2);
    expect(world.crm.requests[1]?.context.contact).toEqual({ ref: 'R-1', newer: [] });
    contacts.stop();
  });
});
