import { describe, expect, it } from '@jest/globals';
import { failureClasses, failurePolicies } from '#contracts';
import { at, nobody, operations, reasons, states, until } from '../../test/summary-table.js';
import { summarise } from './summary.js';
import type { SummaryDelivery, SummaryFacts } from './summary-facts.js';

const crm = (changes: Partial<SummaryDelivery> = {}): SummaryDelivery => ({
  destination: 'crm',
  primary: true,
  writesToCustomer: false,
  state: 'delivered',
  deadlineAt: until,
  ...changes,
});
const marketing = (changes: Partial<SummaryDelivery> = {}) =>
  crm({ destination: 'marketing', primary: false, writesToCustomer: true, ...changes });
const facts = (changes: Partial<SummaryFacts> = {}): SummaryFacts => ({
  test: false,
  owner: 'Sales duty',
  erased: false,
  consentWithdrawn: false,
  deliveries: [crm()],
  notifications: [],
  replaying: false,
  ...changes,
});

describe('the summary of a lead', () => {
  it.each(states)('of a delivery that is %s', (_, delivery, says) => {
    const { seen_by_customer, ...rest } = summarise(facts({ deliveries: [crm(delivery)] }));
    expect(rest).toEqual(says);
    expect(seen_by_customer).toBe('The form took their words.');
  });

  it.each(failureClasses)('of a delivery that died as %s names the reason, what to do and whose it is', (failure) => {
    const { what_happened, next, who } = summarise(facts({ deliveries: [crm({ state: 'dead', class: failure })] }));
    expect(what_happened).toBe(reasons[failure]);
    expect(next).toBe(`Nothing happens by itself. ${failurePolicies[failure].nextAction}`);
    expect(who).toMatch(/^Whoever /);
  });

  it.each([
    ['no_consent', 'It did not reach crm: it needs the person’s consent, which the lead does not have.'],
    ['no_sandbox', 'It did not reach crm: this is a test lead, and that is no sandbox.'],
  ])('of a lead that its destination takes no more (%s) blames none of its fields', (code, says) => {
    const summary = summarise(facts({ deliveries: [crm({ state: 'dead', class: 'invalid', code })] }));
    expect(summary).toMatchObject({ what_happened: says, who: operations });
    expect(summary.next).toContain('site file');
  });

  it('of a failure that an older release does not know is that of a refusal', () => {
    expect(summarise(facts({ deliveries: [crm({ state: 'dead', class: 'new_class' })] })).what_happened).toBe(reasons.permanent);
  });

  it('of a lead without a route says that it went nowhere', () => {
    const { what_happened, who } = summarise(
      facts({ deliveries: [crm({ destination: 'unrouted', primary: false, state: 'dead', class: 'routing' })] }),
    );
    expect(what_happened).toBe('It went nowhere: no rule says where it belongs.');
    expect(who).toBe(operations);
  });

  it('of a lead with an approved replay is that it goes on by itself', () => {
    const dead = facts({ deliveries: [crm({ state: 'dead', class: 'auth' })], replaying: true });
    expect(summarise(dead)).toMatchObject({ next: 'A replay was approved and is under way.', who: nobody });
  });

  it('of several deliveries tells the worst first, and what happens next of that one', () => {
    const { what_happened, next } = summarise(
      facts({ deliveries: [crm({ ref: 'C-7' }), marketing({ state: 'waiting', nextAttemptAt: at })] }),
    );
    expect(what_happened).toBe('marketing could not take it yet. crm has it as C-7.');
    expect(next).toBe('It is tried again by itself.');
  });

  it('of a lead that was refused is that nobody saw it', () => {
    expect(summarise(facts({ refused: { class: 'conflict' }, deliveries: [] }))).toEqual({
      what_happened: 'It was not taken in: its id had been used for other content.',
      next: `Nothing happens by itself. ${failurePolicies.conflict.nextAction}`,
      who: 'Whoever runs the form or system that the lead came from.',
      seen_by_customer: 'Nothing from us.',
      seen_by_sales: 'Nothing.',
    });
  });

  it.each([
    [[marketing()], {}, 'The form took their words. marketing may have written to them.'],
    [[marketing({ state: 'uncertain' })], {}, 'The form took their words. Perhaps marketing wrote to them too.'],
    [[marketing({ state: 'waiting' })], {}, 'The form took their words.'],
    [
      [marketing(), marketing({ destination: 'letters' })],
      {},
      'The form took their words. marketing and letters may have written to them.',
    ],
    [[crm()], { consentWithdrawn: true }, 'The form took their words. They have withdrawn their consent.'],
    [[crm()], { erased: true }, 'The form took their words. What we kept of them is gone.'],
    [[marketing()], { test: true }, 'There is no customer: it is a test.'],
  ])('says what the customer saw (%#)', (deliveries, more, says) => {
    expect(summarise(facts({ deliveries, ...more })).seen_by_customer).toBe(says);
  });

  it.each([
    ['succeeded', 'They were told by a message (telegram).'],
    ['delivered', 'They were told by a message (telegram).'],
    ['pending', 'A message is on its way (telegram).'],
    ['waiting', 'A message is on its way (telegram).'],
    ['held', 'A message is on its way (telegram).'],
    ['uncertain', 'They may have been told by a message (telegram).'],
    ['dead', 'The message to them failed (telegram).'],
    ['expired', 'The message to them came too late and was not sent (telegram).'],
    ['discarded', 'A person decided that no message is sent (telegram).'],
    ['erased', 'No message was sent: the person’s data was erased first (telegram).'],
  ])('says of a message that is %s what sales saw', (state, says) => {
    expect(summarise(facts({ notifications: [{ channel: 'telegram', state }] })).seen_by_sales).toBe(`It stands in crm. ${says}`);
  });

  it('does not guess about messages while nobody can be asked, nor about a CRM that the lead never went to', () => {
    expect(summarise(facts({ notifications: undefined })).seen_by_sales).toBe(
      'It stands in crm. Whether they were told cannot be found out at the moment.',
    );
    expect(summarise(facts({ deliveries: [marketing()] })).seen_by_sales).toBe('Nothing in the CRM. Nobody was told.');
  });

  it('has no word of how this system is built', () => {
    const shown = states.flatMap(([, delivery]) => Object.values(summarise(facts({ deliveries: [crm(delivery)] }))));
    expect(shown.join(' ')).not.toMatch(/topic|partition|offset|queue|kafka|consumer|\blease|operation|attempt|retry|dead letter/i);
  });
});
