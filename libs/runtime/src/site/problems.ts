import type { ConfigProblem } from '../config/config-error.js';

/** The problem where there is one. */
export function when(wrong: boolean, problem: ConfigProblem): ConfigProblem[] {
  return wrong ? [problem] : [];
}

export function hasTwins(names: readonly string[]): boolean {
  return new Set(names).size !== names.length;
}
