/** Until a destination is asked again that could not say what it holds. */
const againMs = 2_000;
/** As often in a row as it may be so before a person has to look. */
const mostInRow = 15;

/** What a destination could not be asked about is not given up for that: it is asked again, for half a minute. */
export class Unanswered {
  private inRow = 0;
  private askAt = Number.NEGATIVE_INFINITY;

  mayAsk(nowMs: number): boolean {
    return nowMs >= this.askAt;
  }

  /** After a round in which so many items were sent, and so many could not be asked about. True: it goes on too long. */
  note({ sent, waiting }: { sent: number; waiting: number }, nowMs: number): boolean {
    if (waiting === 0 || sent > 0) this.inRow = 0;
    if (waiting === 0) return false;
    this.inRow += 1;
    this.askAt = nowMs + againMs;
    return this.inRow > mostInRow;
  }
}
