import { crashPoint } from '#runtime';
import type { Permit } from './permits/permit.js';
import type { ReplayGate } from './permits/replay-gate.js';
import type { ClaimResult } from './sql/claim.js';
import type { Statements } from './statements.js';
import type { Target } from './target.js';
import type { Work } from './work.js';

/** What a record met on its way to a claim. `no_item`: it was replayed without a right to it. */
export type Met = ClaimResult | { kind: 'refused' } | { kind: 'later'; delayMs: number } | { kind: 'no_item'; code: string };

export interface ClaimingOptions<E> {
  statements: Pick<Statements<E>, 'claim' | 'replay'>;
  replays?: ReplayGate;
  target: Pick<Target<E>, 'unchanged'>;
}

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
    const claim = await statements.replay({ work, permit, stale: await this.#isStale(permit) });
    if (claim.kind !== 'claimed') return { kind: 'no_item', code: 'not_open' };
    crashPoint('replay_claimed');
    return claim;
  }

  /** Between approval and claim there may be hours, in which people work at the destination. */
  async #isStale({ repair }: Permit): Promise<boolean> {
    if (repair === undefined || repair.renew.every(({ compared }) => compared === undefined)) return false;
    return !((await this.#options.target.unchanged?.({ repair })) ?? false);
  }
}
