/** Enough to tell a fifth from a half, few enough to see within seconds that a busy destination works again. */
const answersKept = 50;
/** Before that many nothing is concluded: one hiccup of four answers is no failing destination. */
const answersNeeded = 10;
/** What was longer ago says nothing about now. */
const rememberMs = 300_000;

/** How the last calls of this process were answered. */
export class RecentAnswers {
  /** Oldest first. */
  readonly #answers: { failed: boolean; atMs: number }[] = [];
  #failed = 0;

  /** `nowMs` only ever grows. */
  add(failed: boolean, nowMs: number): void {
    this.#answers.push({ failed, atMs: nowMs });
    if (failed) this.#failed++;
    if (this.#answers.length > answersKept) this.#drop();
  }

  clear(): void {
    this.#answers.length = 0;
    this.#failed = 0;
  }

  /** More than this share of them failed. False while too few are known. */
  failMoreThan(share: number, nowMs: number): boolean {
    for (let [first] = this.#answers; first !== undefined && nowMs - first.atMs >= rememberMs; [first] = this.#answers) this.#drop();
    const known = this.#answers.length;
    return known >= answersNeeded && this.#failed > known * share;
  }

  #drop(): void {
    if (this.#answers.shift()?.failed === true) this.#failed--;
  }
}
