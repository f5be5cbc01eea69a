import { type DeliveryState, type FailureOwner, type FailurePolicy, failurePolicies, worstFirst } from '#contracts';
import type { Summary, SummaryDelivery, SummaryFacts } from './summary-facts.js';

/** Where a lead is, what happens next and who has to act, in words for whoever sells. Pure: the table in its specification says what it answers. */
export function summarise(facts: SummaryFacts): Summary {
  if (facts.refused !== undefined) return refusedSummary(facts.refused.class);
  const deliveries = [...facts.deliveries].sort((a, b) => worstFirst.indexOf(a.state) - worstFirst.indexOf(b.state));
  const [worst] = deliveries;
  const step = worst === undefined ? arriving : nextOf(worst, facts);
  return {
    what_happened: deliveries.length === 0 ? 'It was accepted.' : deliveries.map(happened).join(' '),
    ...step,
    seen_by_customer: seenByCustomer(facts),
    seen_by_sales: seenBySales(facts),
  };
}

type Step = Pick<Summary, 'next' | 'when' | 'who'>;

const nobody = 'Nobody has to act.';
const arriving: Step = { next: 'It goes out within moments.', who: nobody };

const ownerNames: Readonly<Record<FailureOwner, string>> = {
  integration: 'Whoever looks after the connection to the destination.',
  operations: 'Whoever is on duty for this system.',
  sales_operations: 'Whoever looks after leads and campaigns.',
  source: 'Whoever runs the form or system that the lead came from.',
};

function policyOf(failure: string | undefined): FailurePolicy {
  return (failurePolicies as Readonly<Record<string, FailurePolicy>>)[failure ?? ''] ?? failurePolicies.permanent;
}

/** What a failure class means, after `It did not reach X: `. */
const reasons: Readonly<Record<string, string>> = {
  decode: 'what came could not be read',
  invalid: 'it did not have the fields that are needed',
  unknown_source: 'it came from a source that is not set up',
  conflict: 'its id had been used for other content',
  routing: 'no rule says where it belongs',
  unknown_owner: 'the person it belongs to is not set up',
  permanent: 'the destination refused it',
  attempts_exhausted: 'the destination kept failing, and every try is used up',
  deadline_exceeded: 'its time was over',
  auth: 'the destination does not let us write this one',
  protected_field: 'it would have changed a field that people keep by hand there',
  unverified_write: 'nobody could find out whether it arrived',
  oversize: 'it is too large',
};
const reasonOf = (failure: string | undefined): string => reasons[failure ?? ''] ?? reasons.permanent ?? '';

/** What our own rules say against a lead by now: by code, since nothing is wrong with its fields. */
const notTaken: Readonly<Record<string, string>> = {
  no_consent: 'it needs the person’s consent, which the lead does not have',
  no_sandbox: 'this is a test lead, and that is no sandbox',
};

function happened(delivery: SummaryDelivery): string {
  const { destination: to, state, class: failure, code, ref, blocked } = delivery;
  switch (state) {
    case 'accepted':
      return blocked === undefined ? `It is on its way to ${to}.` : `It waits to go to ${to}, ${blockedWords[blocked]}.`;
    case 'pending':
    case 'in_flight':
      return `It is being handed to ${to} right now.`;
    case 'waiting':
      return code === 'proved_absent' ? `${to} did not get it the first time.` : `${to} could not take it yet.`;
    case 'held':
      return `It waits to go to ${to}, ${blockedWords[blocked ?? 'hold']}.`;
    case 'uncertain':
      return `It was sent to ${to}, but no answer came, so nobody knows yet whether ${to} has it.`;
    case 'delivered':
      return ref === undefined ? `${to} has it.` : `${to} has it as ${ref}.`;
    case 'dead':
      return to === 'unrouted'
        ? `It went nowhere: ${reasonOf(failure)}.`
        : `It did not reach ${to}: ${notTaken[code ?? ''] ?? reasonOf(failure)}.`;
    case 'expired':
      return `It did not reach ${to} in time.`;
    case 'discarded':
      return code === 'consent_withdrawn'
        ? `It did not go to ${to}: consent was withdrawn.`
        : `A person decided that it does not go to ${to}.`;
    case 'erased':
      return `It did not go to ${to}: the person’s data was erased first.`;
  }
}

const blockedWords = {
  hold: 'which a person has put on hold',
  failing: 'which is failing at the moment',
  throttled: 'which asked us to slow down',
  auth: 'which does not accept our login at the moment',
} as const;

function nextOf(delivery: SummaryDelivery, { replaying, owner }: SummaryFacts): Step {
  const { destination: to, state, class: failure, code, nextAttemptAt } = delivery;
  const followUp = owner === undefined ? 'Whoever the lead belongs to.' : `${owner} follows up.`;
  switch (state) {
    case 'accepted':
    case 'held':
      return blockedNext(delivery);
    case 'pending':
    case 'in_flight':
      return { next: `The answer of ${to} is awaited.`, who: nobody };
    case 'waiting':
      return { next: 'It is tried again by itself.', when: nextAttemptAt, who: nobody };
    case 'uncertain':
      if (failure === 'unverified_write')
        return decide('A person must look it up there and record what they find; it is not sent again unseen.', failure);
      return { next: `${to} is asked whether it has the lead before anything is sent again.`, when: nextAttemptAt, who: nobody };
    case 'dead':
    case 'expired':
      if (replaying) return { next: 'A replay was approved and is under way.', who: nobody };
      if (state === 'dead' && notTaken[code ?? ''] !== undefined)
        return {
          next: 'Nothing happens by itself. Mend the site file and approve it, if that was not meant; else discard it.',
          who: ownerNames.operations,
        };
      return decide(
        policyOf(state === 'expired' ? 'deadline_exceeded' : failure).nextAction,
        state === 'expired' ? 'deadline_exceeded' : failure,
      );
    case 'discarded':
    case 'erased':
      return { next: 'Nothing more happens.', who: nobody };
    case 'delivered':
      return { next: 'Nothing more happens here.', who: followUp };
  }
}

function decide(action: string, failure: string | undefined): Step {
  return { next: `Nothing happens by itself. ${action}`, who: ownerNames[policyOf(failure).owner] };
}

function blockedNext({ destination: to, state, blocked, deadlineAt }: SummaryDelivery): Step {
  if (state === 'accepted' && blocked === undefined) return arriving;
  if (blocked === 'hold' || blocked === undefined) {
    return { next: `It goes out when ${to} is released, unless its time is over first.`, when: deadlineAt, who: ownerNames.operations };
  }
  if (blocked === 'auth') {
    return {
      next: `It goes out once ${to} accepts our login again, unless its time is over first.`,
      when: deadlineAt,
      who: ownerNames.integration,
    };
  }
  return { next: `It goes out by itself once ${to} answers again, unless its time is over first.`, when: deadlineAt, who: nobody };
}

function refusedSummary(failure: string): Summary {
  const { nextAction, owner } = policyOf(failure);
  return {
    what_happened: `It was not taken in: ${reasonOf(failure)}.`,
    next: `Nothing happens by itself. ${nextAction}`,
    who: ownerNames[owner],
    seen_by_customer: 'Nothing from us.',
    seen_by_sales: 'Nothing.',
  };
}

function seenByCustomer({ test, erased, deliveries, consentWithdrawn }: SummaryFacts): string {
  if (test) return 'There is no customer: it is a test.';
  const writers = deliveries.filter(({ writesToCustomer }) => writesToCustomer);
  const names = (state: DeliveryState): string[] => writers.filter((one) => one.state === state).map(({ destination }) => destination);
  const said = ['The form took their words.'];
  const [has, perhaps] = [names('delivered'), names('uncertain')];
  if (has.length > 0) said.push(`${list(has)} may have written to them.`);
  if (perhaps.length > 0) said.push(`Perhaps ${list(perhaps)} wrote to them too.`);
  if (consentWithdrawn) said.push('They have withdrawn their consent.');
  if (erased) said.push('What we kept of them is gone.');
  return said.join(' ');
}

function seenBySales({ test, deliveries, notifications }: SummaryFacts): string {
  const primary = deliveries.find((one) => one.primary);
  const record = primary === undefined ? 'Nothing in the CRM.' : recordWords(primary);
  const message = messageWords(notifications, { primary, test });
  return [record, message].filter((part) => part !== '').join(' ');
}

function recordWords({ destination: to, state, ref }: SummaryDelivery): string {
  if (state === 'delivered') return ref === undefined ? `It stands in ${to}.` : `It stands in ${to} as ${ref}.`;
  if (state === 'uncertain') return `It may stand in ${to} already.`;
  return ['dead', 'expired', 'discarded', 'erased'].includes(state) ? `It does not stand in ${to}.` : `It does not stand in ${to} yet.`;
}

function messageWords(
  notifications: SummaryFacts['notifications'],
  { primary, test }: { primary: SummaryDelivery | undefined; test: boolean },
): string {
  if (notifications === undefined) return 'Whether they were told cannot be found out at the moment.';
  if (notifications.length === 0)
    return test || primary?.state === 'delivered' || primary === undefined ? 'Nobody was told.' : 'Nobody was told yet.';
  return notifications.map(({ channel, state }) => `${told[state] ?? 'A message is on its way'} (${channel}).`).join(' ');
}

/** By the state of the message; every other is on its way. */
const told: Readonly<Record<string, string>> = {
  succeeded: 'They were told by a message',
  delivered: 'They were told by a message',
  uncertain: 'They may have been told by a message',
  dead: 'The message to them failed',
  expired: 'The message to them came too late and was not sent',
  discarded: 'A person decided that no message is sent',
  erased: 'No message was sent: the person’s data was erased first',
};

function list(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
