import { longestDeadlineMs, longestRecoveryMs } from '#contracts';
import type { ConfigProblem } from '../config/config-error.js';
import { builtInLimits, builtInPolicies } from './built-in-policies.js';
import type { ReadableDestination } from './check-destination.js';
import { when } from './problems.js';

interface Policy {
  /** Absent: as built in. */
  deadline?: number;
  max_age: number;
}

const days = (ms: number): string => `${Math.ceil(ms / 86_400_000)}d`;

interface PolicySurroundings {
  destinations: Readonly<Record<string, ReadableDestination>>;
  /** How long payloads are kept. */
  vaultMs: number;
  /** Policies that a rule names. */
  named: ReadonlySet<string | undefined>;
}

/**
 * Policies as a whole: what every kept thing has to outlive. A lead may be sent last by an item that is approved at the end of max_age and
 * has a deadline of its own; until then its rows, its record and a destination's answers under its key must still be there.
 */
export function checkPolicies(
  policies: Readonly<Record<string, Policy>>,
  { destinations, vaultMs, named }: PolicySurroundings,
): ConfigProblem[] {
  // A built-in one that no rule names binds nobody; without a rule a lead has `default`.
  const builtIn = Object.entries(builtInPolicies).filter(
    ([name]) => policies[name] === undefined && (name === 'default' || named.has(name)),
  );
  const ages = [...Object.values(policies).map(({ max_age }) => max_age), ...builtIn.map(([, { maxAgeMs }]) => maxAgeMs)];
  const longestMs = Math.max(...ages.filter(Number.isFinite).map(recoveryMs));
  return [
    ...Object.entries(policies).flatMap(([name, policy]) => checkPolicy(name, policy)),
    ...Object.entries(destinations).flatMap(([name, { native_idempotency: native, key_retention: keptMs }]) =>
      when(native && keptMs < longestMs, {
        path: `destinations.${name}.key_retention`,
        problem: `is shorter than a lead may be retried and replayed (${days(longestMs)}: max_age of a policy and the longest deadline of an approval)`,
        fix: 'Shorten max_age, or set native_idempotency: false and give lookup, so that an old key is looked up and never sent again',
      }),
    ),
    ...when(vaultMs < longestMs, {
      path: 'retention.vault',
      problem: `is shorter than a lead may be retried and replayed (${days(longestMs)}: max_age of a policy and the longest deadline of an approval)`,
      fix: `Make it at least ${days(longestMs)}, or shorten max_age`,
    }),
  ];
}

/** An approval at the end of max_age gives a deadline of its own, whatever the policy's is. */
const recoveryMs = (maxAge: number): number => maxAge + longestDeadlineMs;

function checkPolicy(name: string, { deadline = builtInLimits(name).deadlineMs, max_age: maxAge }: Policy): ConfigProblem[] {
  const path = `policies.${name}`;
  return [
    ...when(deadline > maxAge, {
      path: `${path}.max_age`,
      problem: 'is shorter than the deadline',
      fix: 'Make it at least as long as deadline',
    }),
    ...when(deadline > longestDeadlineMs, {
      path: `${path}.deadline`,
      problem: 'is longer than the retention of lead.accepted less 7 days',
      fix: `Make it at most ${longestDeadlineMs / 3_600_000}h`,
    }),
    ...when(Number.isFinite(maxAge) && recoveryMs(maxAge) > longestRecoveryMs, {
      path: `${path}.max_age`,
      problem: 'and the deadline of an approval behind it outlive the rows that a replay needs',
      fix: `Make it at most ${days(longestRecoveryMs - longestDeadlineMs)}`,
    }),
  ];
}
