import type { Identify } from '../http/asked-by.js';
import { type OperatorToken, tokenFinder } from './operator-tokens.js';

const scheme = 'Bearer ';

/** Who a bearer token stands for: one of the file's. */
export function identifier({ tokens }: { tokens: readonly OperatorToken[] }): Identify {
  const byToken = tokenFinder(tokens);
  return async (authorization) => {
    if (authorization?.startsWith(scheme) !== true) return undefined;
    return byToken(authorization.slice(scheme.length));
  };
}
