/** A lead of one destination whose record the destination's group has not committed. */
export interface UnreadLead {
  offset: bigint;
  eventId: string;
  submittedAtMs: number;
  test: boolean;
}

/** Where a group and the log of one partition stand. */
export interface Standing {
  committed: bigint;
  /** First offset kept. */
  low: bigint;
  /** Next offset to be written. */
  high: bigint;
}

/**
 * What is known of one partition between a group's committed offset and the end of the log. Records are looked at once, in their order; those
 * that were found to be claimed are forgotten.
 */
export class UnreadPartition {
  leads: UnreadLead[] = [];
  #begin = -1n;
  #next = 0n;
  #end = 0n;

  /** Offset of the first record that was not looked at. */
  get next(): bigint {
    return this.#next;
  }

  /** How many offsets were not looked at. */
  get unseen(): number {
    return Number(this.#end - this.#next);
  }

  /** The group or the log has moved on. Looks again at everything where either has gone back: then nothing known holds. */
  move({ committed, low, high }: Standing): void {
    const begin = committed < low ? low : committed;
    const back = this.#begin < 0n || begin < this.#begin || high < this.#next;
    if (back) this.leads = [];
    else if (begin > this.#begin) this.leads = this.leads.filter(({ offset }) => offset >= begin);
    this.#next = back || this.#next < begin ? begin : this.#next;
    this.#begin = begin;
    this.#end = high < this.#next ? this.#next : high;
  }

  /** Takes in what was found between `next` and `to`; undefined: no record is there any more. */
  saw(leads: readonly UnreadLead[], to: bigint | undefined): void {
    this.leads.push(...leads);
    this.#next = to === undefined || to > this.#end ? this.#end : to;
  }

  /** Forgets the claimed ones of a stretch of the leads. Gives how many. */
  forget({ from, to }: { from: number; to: number }, claimed: ReadonlySet<string>): number {
    const before = this.leads.length;
    this.leads = this.leads.filter(({ eventId }, index) => index < from || index >= to || !claimed.has(eventId));
    return before - this.leads.length;
  }
}
