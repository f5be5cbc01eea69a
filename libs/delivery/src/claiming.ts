import { crashPoint } from '#runtime';
import { kindOfKey } from './permits/kind-of-key.js';
import type { Permit, RepairedOperation } from './permits/permit.js';
import type { ReplayGate } from './permits/replay-gate.js';
import type { SinceCompared } from './replays/changed-since.js';
import type { ClaimResult } from './sql/claim.js';
import type { Statements } from './statements.js';
import { canLookUp, type Target } from './target.js';
import type { Work } from './work.js';

/** What a record met on its way to a claim. `no_item`: it was replayed without a right to it. */
export type Met = ClaimResult | { kind: 'refused' } | { kind: 'later'; delayMs: number } | { kind: 'no_item'; code: string };

export interface ClaimingOptions<E> {
  statements: Pick<Statements<E>, 'claim' | 'replay'>;
  replays?: ReplayGate;
  target: Pick<Target<E>, 'sinceCompared' | 'lookup' | 'canLookUp' | 'timeoutMs'>;
}

/** Until a destination is asked again that could not say whether a record is as it was approved. */
const askAgainMs = 5_000;

/** The way to a claim: by its row for what is live, by its permit for what is replayed; what was claimed before is no replay any more. */
export class Claiming<E> {
  readonly #options: ClaimingOptions<E>;

  constructor(options: ClaimingOptions<E>) {
    this.#options = options;
  }

  async claim(work: Work<E>): Promise<Met> {
    if (work.replayed && work.leasedAt === 0) return this.#replay(work);
    const claim = await this.#options.statements.claim(work);
    if (claim.kind === 'claimed') crashPoint('claimed');
    return claim;
  }

  async #replay(work: Work<E>): Promise<Met> {
    const { replays, statements } = this.#options;
    const verdict = (await replays?.admit(work.received.receipt.record)) ?? { kind: 'refused', code: 'no_replays' };
    if (verdict.kind === 'later') return verdict;
    if (verdict.kind === 'refused') return { kind: 'no_item', code: verdict.code };
    const { permit } = verdict;
    const { eventId, destination } = work.plan;
    if (permit.eventId !== eventId.toLowerCase() || permit.destination !== destination) return { kind: 'no_item', code: 'other_delivery' };
    const since = await this.#since(work, permit);
    if (since === 'unread') return { kind: 'later', delayMs: askAgainMs };
    const claim = await statements.replay({ work, permit, stale: since === 'changed' });
    if (claim.kind !== 'claimed') return { kind: 'no_item', code: 'not_open' };
    crashPoint('replay_claimed');
    return claim;
  }

  /** Whether the records are as they were approved. Between approval and claim there may be hours, in which people work at the destination. */
  async #since(work: Work<E>, permit: Permit): Promise<SinceCompared> {
    const { renew, forget = [] } = permit.repair ?? { renew: [] };
    const all = await Promise.all([
      ...renew.map((one) => this.#sinceCompared(one, permit)),
      ...forget.map((one) => this.#sinceMissed(one, work, permit)),
    ]);
    if (all.includes('changed')) return 'changed';
    return all.includes('unread') ? 'unread' : 'same';
  }

  async #sinceCompared({ operationKey, ref, compared }: RepairedOperation, permit: Permit): Promise<SinceCompared> {
    if (compared === undefined) return 'same';
    const { target } = this.#options;
    // Where it can never be said it is not written.
    return (await target.sinceCompared?.({ kind: kindOfKey(operationKey, permit), ref, compared }, target.timeoutMs)) ?? 'changed';
  }

  /** A second record is worse than a missing one: made anew is only what is not there now either. */
  async #sinceMissed({ operationKey }: RepairedOperation, work: Work<E>, permit: Permit): Promise<SinceCompared> {
    const { target } = this.#options;
    const kind = kindOfKey(operationKey, permit);
    if (!canLookUp(target, kind)) return 'changed';
    const context = { eventId: permit.eventId, personKey: work.plan.contact?.personKey, timeoutMs: target.timeoutMs };
    const found = await target.lookup?.({ kind, operationKey }, context).catch(() => undefined);
    if (found === undefined || found.kind === 'unknown') return 'unread';
    return found.kind === 'absent' ? 'same' : 'changed';
  }
}
