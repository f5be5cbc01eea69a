import type { LeadPayload } from '#contracts';
import { crashPoint } from '#runtime';
import type { Contacts, SettledWrite } from './contacts/contacts.js';
import type { Call } from './policy/conclude.js';
import type { Target } from './target.js';
import type { OperationWork, Work } from './work.js';

export interface ContactTurnsOptions<E> {
  target: Target<E>;
  contacts?: Contacts;
}

export type ContactTurn = { kind: 'ours' } | { kind: 'busy'; waitMs: number };

/** Lets one delivery at a time write a person's record, and tells it what is known of that record. */
export class ContactTurns<E> {
  readonly #options: ContactTurnsOptions<E>;

  constructor(options: ContactTurnsOptions<E>) {
    this.#options = options;
  }

  /** Fills in `work.contact`. A delivery whose contact is written already needs no turn. */
  async acquire(work: Work<E>, payload: LeadPayload | undefined): Promise<ContactTurn> {
    const { contacts, target } = this.#options;
    const write = settledWrite(work);
    if (contacts === undefined || write === undefined) return { kind: 'ours' };
    const { eventId, submittedAt } = work.plan;
    const fields = target.contactFields?.(work.event, payload) ?? [];
    const lock = await contacts.acquire({ ...write, eventId, submittedAt, fields });
    if (lock.kind === 'busy') return lock;
    crashPoint('contact_taken');
    work.contact = { ref: lock.ref, newer: lock.newer };
    work.contactHold = lock.holdId;
    return { kind: 'ours' };
  }

  /** The claim is over, with these calls: the next may have its turn, unless the contact may have been written. */
  settle(work: Work<E>, calls: readonly Call[]): void {
    const { contactHold } = work;
    if (contactHold === undefined) return;
    const operation = contactOperation(work);
    work.contact = undefined;
    work.contactHold = undefined;
    if (operation === undefined) return;
    const call = calls.find((one) => one.operation === operation);
    const answered = call === undefined || (call.verdict.state !== 'succeeded' && !call.verdict.doubtful);
    const write = { ...settledFields(work), operationKey: operation.operationKey };
    const gone = call?.outcome.kind === 'transient' && call.outcome.gone === true;
    // A call before this one may have got through: to a record that is there no more.
    const notSentUnder = gone || (answered && operation.sentAtMs === undefined) ? contactHold : undefined;
    this.#options.contacts?.settle(write, { notSentUnder, gone });
  }

  /** The same while the claim goes on: only where the contact is among what was written. */
  settlePart(work: Work<E>, calls: readonly Call[]): void {
    const operation = contactOperation(work);
    if (calls.some((call) => call.operation === operation)) this.settle(work, calls);
  }
}

const contactOperation = (work: Work<unknown>): OperationWork | undefined =>
  work.operations.find(({ kind }) => kind === work.plan.contact?.kind);

const settledFields = ({ plan }: Work<unknown>) => ({
  destination: plan.destination,
  personKey: plan.contact?.personKey ?? '',
});

function settledWrite(work: Work<unknown>): SettledWrite | undefined {
  const operation = contactOperation(work);
  if (operation === undefined || operation.state === 'succeeded') return undefined;
  return { ...settledFields(work), operationKey: operation.operationKey };
}
