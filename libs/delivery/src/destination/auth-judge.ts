import { type CheckResult, CheckRunner } from './check-runner.js';
import type { AuthOutcome, AuthScope } from './control.js';

export interface AuthJudgeOptions {
  check?(): Promise<CheckResult>;
  /** The destination is known to refuse us: no need to ask again. */
  isRefused(): boolean;
  /** It turned out to refuse us. */
  onRefused(): void;
}

/** Finds out whom a destination refuses, by its own check call. */
export class AuthJudge {
  readonly #options: AuthJudgeOptions;
  readonly #runner: CheckRunner | undefined;
  /** One outcome is judged once, whoever asks. */
  readonly #scopes = new WeakMap<AuthOutcome, Promise<AuthScope>>();

  constructor(options: AuthJudgeOptions) {
    this.#options = options;
    if (options.check !== undefined) this.#runner = new CheckRunner(options.check.bind(options));
  }

  /** Absent: there is no check call. Never rejects. */
  get check(): (() => Promise<CheckResult>) | undefined {
    const runner = this.#runner;
    return runner && (() => runner.run());
  }

  /** Never rejects. */
  scopeOf(outcome: AuthOutcome): Promise<AuthScope> {
    const known = this.#scopes.get(outcome);
    if (known !== undefined) return known;
    const scope = this.#judge(outcome);
    this.#scopes.set(outcome, scope);
    return scope;
  }

  async #judge(outcome: AuthOutcome): Promise<AuthScope> {
    if (this.#runner === undefined) {
      if (outcome.status === 403) return 'lead';
    } else {
      if (this.#options.isRefused()) return 'destination';
      if ((await this.#runner.run()).ok) return 'lead';
    }
    this.#options.onRefused();
    return 'destination';
  }
}
