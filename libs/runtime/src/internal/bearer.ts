import { createHash, timingSafeEqual } from 'node:crypto';

const scheme = 'Bearer ';

/**
 * Finds the caller of a request by its Authorization header. Every token is compared in constant time and none is skipped, so that
 * neither a token nor a caller's name can be found by timing.
 */
export function bearerCallers(tokens: Record<string, string>): (authorization: string | undefined) => string | undefined {
  const callers = Object.entries(tokens).map(([caller, token]) => ({ caller, hash: sha256(token) }));
  return (authorization) => {
    if (authorization === undefined || !authorization.startsWith(scheme)) return undefined;
    const given = sha256(authorization.slice(scheme.length));
    let found: string | undefined;
    for (const { caller, hash } of callers) if (timingSafeEqual(hash, given)) found = caller;
    return found;
  };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
