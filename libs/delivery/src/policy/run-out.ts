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

/** What becomes of an operation that may not be called any more. What may have happened is looked up before it is given up. */
export function runOut(limit: Limit, { doubtful, canLookUp }: Doubt): RunOut {
  if (doubtful && canLookUp) return { state: 'uncertain' };
  return limit === 'attempts' ? { state: 'dead', class: 'attempts_exhausted' } : { state: 'expired', class: 'deadline_exceeded' };
}
