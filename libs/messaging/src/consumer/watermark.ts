const waiting = 0;
const out = 1;
const settled = 2;
const firstCapacity = 1_024;

/**
 * The records of one partition in fetch order, and how far the committed offset may go: up to the first record that is not settled, or to
 * the fetch position when all are. Records are known by the ticket that `append` gives; offsets may have gaps. Nine bytes per record.
 */
export class Watermark {
  private offsets = new Float64Array(firstCapacity);
  private states = new Uint8Array(firstCapacity);
  private mask = firstCapacity - 1;
  /** Ticket of the first record not settled. */
  private head = 0;
  /** Next ticket. */
  private tail = 0;
  private position: number | undefined;

  /** @throws RangeError when the offset is not beyond every earlier one: positions have moved back and this bookkeeping is void. */
  append(offset: number): number {
    if (this.position !== undefined && offset < this.position) throw new RangeError('An offset came twice in one assignment');
    if (this.tail - this.head > this.mask) this.grow();
    const ticket = this.tail;
    this.offsets[ticket & this.mask] = offset;
    this.states[ticket & this.mask] = waiting;
    this.tail = ticket + 1;
    this.position = offset + 1;
    return ticket;
  }

  /** The fetch position went on without a record (control records, a reset to the start of the log). It never goes back. */
  moveTo(position: number): void {
    if (this.position === undefined || position > this.position) this.position = position;
  }

  /** Marks a record as being with the application; false when it is settled already. */
  handOut(ticket: number): boolean {
    if (ticket < this.head || this.states[ticket & this.mask] === settled) return false;
    this.states[ticket & this.mask] = out;
    return true;
  }

  /** The application gave the record back unsettled; false when it does not have it. */
  takeBack(ticket: number): boolean {
    if (ticket < this.head || this.states[ticket & this.mask] !== out) return false;
    this.states[ticket & this.mask] = waiting;
    return true;
  }

  /** Whether this call settled the record, and whether the application had it. */
  settle(ticket: number): 'settled' | 'settled while waiting' | 'before' {
    if (ticket < this.head) return 'before';
    const state = this.states[ticket & this.mask];
    if (state === settled) return 'before';
    this.states[ticket & this.mask] = settled;
    while (this.head < this.tail && this.states[this.head & this.mask] === settled) this.head += 1;
    return state === out ? 'settled' : 'settled while waiting';
  }

  /** Offset that may be committed; undefined before anything was fetched. */
  get committable(): number | undefined {
    return this.head < this.tail ? this.offsets[this.head & this.mask] : this.position;
  }

  /** Where the next fetch begins; undefined before anything was fetched. */
  get next(): number | undefined {
    return this.position;
  }

  /** Records from the first unsettled one on, settled or not: what would be read again after a crash. */
  get span(): number {
    return this.tail - this.head;
  }

  private grow(): void {
    const size = this.offsets.length * 2;
    const [offsets, states] = [new Float64Array(size), new Uint8Array(size)];
    for (let ticket = this.head; ticket < this.tail; ticket += 1) {
      offsets[ticket & (size - 1)] = this.offsets[ticket & this.mask] ?? 0;
      states[ticket & (size - 1)] = this.states[ticket & this.mask] ?? waiting;
    }
    [this.offsets, this.states, this.mask] = [offsets, states, size - 1];
  }
}
