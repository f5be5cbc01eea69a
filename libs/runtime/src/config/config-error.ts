/** One thing wrong with the configuration. `path` is a variable or field name, `fix` says what to do. Neither ever holds a configured value. */
export interface ConfigProblem {
  path: string;
  problem: string;
  fix: string;
}

/** Everything wrong with the configuration, in one error, so that it can be repaired in one go. The message carries no configured value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly safeMessage = true;
  readonly problems: ConfigProblem[];

  constructor(problems: ConfigProblem[]) {
    super(
      `${problems.length} configuration problem${problems.length === 1 ? '' : 's'}:\n${problems.map((p) => `  ${p.path}: ${p.problem}. ${p.fix}`).join('\n')}`,
    );
    this.problems = problems;
  }
}
