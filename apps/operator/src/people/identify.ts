import type { Identify } from '../http/asked-by.js';
import { type OperatorToken, tokenFinder } from './operator-tokens.js';
import type { Person } from './person.js';

const scheme = /^Bearer +(\S+)$/i;
/** Three parts, as no token of the file has. */
const jwt = /^[\w-]+\.[\w-]+\.[\w-]*$/;
/** Longer is no token of anybody; nothing is spent on it. */
const longestToken = 16_384;

export interface IdentifyOptions {
  tokens: readonly OperatorToken[];
  /** For tokens of the site's issuer; absent: there is none. */
  verify?: (token: string) => Promise<Person | undefined>;
}

/** Who a bearer token stands for: one of the file's, or else one of the issuer's. */
export function identifier({ tokens, verify }: IdentifyOptions): Identify {
  const byToken = tokenFinder(tokens);
  return async (authorization) => {
    const token = scheme.exec(authorization ?? '')?.[1];
    if (token === undefined || token.length > longestToken) return undefined;
    return byToken(token) ?? (jwt.test(token) ? await verify?.(token) : undefined);
  };
}
