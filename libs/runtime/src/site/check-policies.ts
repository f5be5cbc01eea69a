import { longestDeadlineMs, longestRecoveryMs } from '#contracts';
import type { ConfigProblem } from '../config/config-error.js';
import type { ReadableDestination } from './check-destination.js';
import { when } from './problems.js';

interface Policy {
  deadline: number;
  max_age: number;
}

const standard: Policy = { deadline: 4 * 3_600_000, max_age: 7 * 86_400_000 };
const days = (ms: number): string => `${Math.ceil(ms / 86_400_000)}d`;

/**
 * Policies as a whole: what every kept thing has to outlive. A lead may be sent last by an item that is approved at the end of max_age and
 * has a deadline of its own; until then its rows, its record and a destination's answers under its key must still be there.
 */
export function checkPolicies(
  policies: Readonly<Record<string, Policy>>,
  { destinations, vaultMs }: { destinations: Readonly<Record<string, ReadableDestination>>; vaultMs: number },
): ConfigProblem[] {
  const all = Object.entries({ default: standard, ...policies });
  const longestMs = Math.max(...all.map(([, policy]) => recoveryMs(policy)).filter(Number.isFinite));
  return [
    ...Object.entries(policies).flatMap(([name, policy]) => checkPolicy(policy, `policies.${name}`)),
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
const recoveryMs = ({ max_age: maxAge }: Policy): number => maxAge + longestDeadlineMs;

function checkPolicy(policy: Policy, path: string): ConfigProblem[] {
  const { deadline, max_age: maxAge } = policy;
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
    ...when(Number.isFinite(maxAge) && recoveryMs(policy) > longestRecoveryMs, {
      path: `${path}.max_age`,
      problem: 'and the deadline of an approval behind it outlive the rows that a replay needs',
      fix: `Make it at most ${days(longestRecoveryMs - longestDeadlineMs)}`,
    }),
  ];
}
