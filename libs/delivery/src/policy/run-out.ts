/** Which limit was reached: the calls that the policy allows, or the deadline. */
export type Limit = 'attempts' | 'deadline';

export interface Doubt {
  /** A call was made that may have been executed, and nobody knows its end. */
  doubtful: boolean;
  /** The destination can be asked whether it was. */
  canLookUp: boolean;
}

export type RunOut =
  | { state: 'uncertain' }
  | { state: 'dead'; class: 'attempts_exhausted' }
  | { state: 'expired'; class: 'deadline_exceeded' };

/**
 * What becomes of an operation that may not be called any more. What may have happened is looked up before it is given up. Where that cannot
 * be, the two limits differ: whoever reads `expired` types the lead in again, so at its deadline it stays `uncertain` until a person has
 * looked; out of attempts it is `dead`, and an approved item sends it again under the same key.
 */
export function runOut(limit: Limit, { doubtful, canLookUp }: Doubt): RunOut {
  if (doubtful && (canLookUp || limit === 'deadline')) return { state: 'uncertain' };
  return limit === 'attempts' ? { state: 'dead', class: 'attempts_exhausted' } : { state: 'expired', class: 'deadline_exceeded' };
}
