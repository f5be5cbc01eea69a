import { isDeepStrictEqual } from 'node:util';
import type { Finding } from '../compare/finding.js';

/** As much of a finding as says which difference it is. */
export type Difference = Pick<Finding, 'kind' | 'fields' | 'evidence'>;

/** Evidence that is another one when the record, or what it should be, has changed. What tells when it was looked at is none. */
const telling = ['version', 'changed_at', 'status', 'contact', 'found_ref', 'outcome', 'generation'];

/**
 * Whether what somebody accepted is all that there is to accept: no other field, and of the same record as it was then. A person's record is
 * one for all of their leads, each with generations of its own. Pure.
 */
export function isAccepted(accepted: Difference, found: Difference): boolean {
  const known = new Set(accepted.fields);
  if (found.fields?.some((name) => !known.has(name))) return false;
  const names = telling.filter((name) => found.kind !== 'contact' || name !== 'generation');
  return names.every((name) => isDeepStrictEqual(accepted.evidence[name], found.evidence[name]));
}

/** One finding of two of the same record by two leads: it has the fields of both, and the repair that one of them may have. */
export function joined(one: Finding | undefined, other: Finding): Finding {
  if (one === undefined) return other;
  const told = one.repair !== undefined && other.repair === undefined ? one : other;
  return { ...told, fields: [...new Set([...(one.fields ?? []), ...(other.fields ?? [])])].sort() };
}
