interface Limits {
  /** Calls of one operation. */
  attempts: number;
  deadlineMs: number;
  maxAgeMs: number;
}

const day = 86_400_000;

/** Policies that every installation has; a site file that names one changes it. A policy of another name has the limits of `default` where it says none. */
export const builtInPolicies = {
  default: { attempts: 4, deadlineMs: 4 * 3_600_000, maxAgeMs: 7 * day },
  /** For leads that nobody can use an hour later: who asked to be called now. */
  strict: { attempts: 4, deadlineMs: 15 * 60_000, maxAgeMs: 7 * day },
} as const satisfies Record<string, Limits>;

/** What a policy of the file does not say itself. */
export const builtInLimits = (name: string): Limits => (name === 'strict' ? builtInPolicies.strict : builtInPolicies.default);
