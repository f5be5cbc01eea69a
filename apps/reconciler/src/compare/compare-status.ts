import type { Rules } from './rules.js';

/**
 * Whether a record may have come to this status: by any number of declared steps from where it was seen last, else from the first one that is
 * declared. Without declared steps every status is right. Pure.
 */
export function mayBe(status: string, seenBefore: string | undefined, transitions: Rules['transitions']): boolean {
  if (transitions === undefined) return true;
  const [first] = Object.keys(transitions);
  const start = seenBefore !== undefined && Object.hasOwn(transitions, seenBefore) ? seenBefore : first;
  const reached = new Set<string>();
  const next = start === undefined ? [] : [start];
  for (let name = next.pop(); name !== undefined; name = next.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    next.push(...(transitions[name] ?? []));
  }
  return reached.has(status);
}
