/** One field that is wrong; never its value. */
export interface FieldProblem {
  field: string;
  problem: string;
  fix: string;
}

/** RFC 9457 problem details. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail?: string;
  errors?: FieldProblem[];
  [extension: string]: unknown;
}

export const problemContentType = 'application/problem+json';

/** A problem body. `type` is a slug such as `idempotency-conflict`; on the wire it is `urn:lead-delivery:problem:<slug>`. */
// eslint-disable-next-line @typescript-eslint/max-params -- status, type and title in this order are how every refusal reads
export function problem(
  status: number,
  type: string,
  title: string,
  more: { detail?: string; errors?: FieldProblem[]; [extension: string]: unknown } = {},
): Problem {
  return { type: `urn:lead-delivery:problem:${type}`, title, status, ...more };
}
