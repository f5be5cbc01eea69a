import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { z } from 'zod';
import type { Logger, OidcConfig } from '#runtime';
import { refusals } from '../http/refusal.js';
import { discover } from './oidc-discovery.js';
import { permissionsOf, type Role, roles } from './permissions.js';
import type { Person } from './person.js';

export interface OidcOptions {
  oidc: OidcConfig;
  logger: Logger;
  /** How often at most the keys are fetched because a token names one that is not known; default 10,000. */
  cooldownMs?: number;
}

/** Signatures only: with a shared secret whoever can check a token could make one. */
const algorithms = ['RS256', 'ES256', 'EdDSA'];
const clockToleranceS = 30;
const fetchTimeoutMs = 3_000;
/** A key that the issuer has withdrawn is good for this long at most. */
const keysKeptMs = 10 * 60_000;

/**
 * Verifies tokens of the site's issuer: signature by one of its published keys, issuer, audience, expiry. Gives undefined for a token that is
 * none of its; rejects with the refusal 401 for one that has expired, and 503 while the keys cannot be had.
 */
export function oidcVerifier({ oidc, logger, cooldownMs = 10_000 }: OidcOptions): (token: string) => Promise<Person | undefined> {
  const keyOf = issuerKeys(oidc, cooldownMs);
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, keyOf, {
        issuer: oidc.issuer,
        audience: oidc.audience,
        algorithms,
        clockTolerance: clockToleranceS,
        requiredClaims: ['exp'],
      });
      return toPerson(payload, oidc);
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw refusals.unauthorized('The token has expired: sign in again');
      if (isTokensFault(error)) return undefined;
      logger.warn({ unit: 'people', err: error }, 'The keys of the issuer cannot be had, so that nobody can sign in with it');
      throw refusals.unavailable();
    }
  };
}

/** What the token is to blame for; anything else is the issuer's or the network's. */
const tokenFaults = [
  errors.JWTClaimValidationFailed,
  errors.JWTInvalid,
  errors.JWSInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
];
const isTokensFault = (error: unknown): boolean => tokenFaults.some((kind) => error instanceof kind);

/** The issuer's keys, fetched when they are first needed, kept, and fetched anew for a key id that is not among them. */
function issuerKeys(oidc: OidcConfig, cooldownDuration: number): JWTVerifyGetKey {
  let keys: Promise<JWTVerifyGetKey> | undefined;
  const open = async (): Promise<JWTVerifyGetKey> => {
    const url = new URL(oidc.jwksUrl ?? (await keysUrl(oidc.issuer)));
    return createRemoteJWKSet(url, { timeoutDuration: fetchTimeoutMs, cooldownDuration, cacheMaxAge: keysKeptMs });
  };
  return async (header, token) => {
    keys ??= open();
    const keyOf = await keys.catch((error: unknown) => {
      keys = undefined;
      throw error;
    });
    return keyOf(header, token);
  };
}

async function keysUrl(issuer: string): Promise<string> {
  const { jwks_uri } = await discover(issuer);
  if (jwks_uri === undefined) throw new Error('The discovery document names no keys');
  return jwks_uri;
}

const text = z.string().trim().min(1).max(200);
const list = z.array(z.string()).max(1_000);

function toPerson(payload: JWTPayload, oidc: OidcConfig): Person | undefined {
  const subject = text.safeParse(claimAt(payload, oidc.subjectClaim));
  if (!subject.success) return undefined;
  const held = rolesOf(claimAt(payload, oidc.rolesClaim), oidc.roleMap);
  const organizations = claimAt(payload, oidc.organizationsClaim);
  return {
    subject: subject.data,
    name: text.safeParse(claimAt(payload, oidc.nameClaim)).data ?? subject.data,
    roles: held,
    permissions: permissionsOf(held),
    organizations: organizations === '*' ? '*' : (list.safeParse(organizations).data ?? []),
  };
}

function rolesOf(claim: unknown, roleMap: OidcConfig['roleMap']): Role[] {
  const given = typeof claim === 'string' ? [claim] : (list.safeParse(claim).data ?? []);
  const held = new Set(given.flatMap((role) => (Object.hasOwn(roleMap, role) ? roleMap[role] : [])));
  return roles.filter((role) => held.has(role));
}

/** The claim of this name, or else what lies at its end when dots lead into objects. Names of claims may be URLs, dots and all. */
function claimAt(payload: JWTPayload, path: string): unknown {
  if (Object.hasOwn(payload, path)) return payload[path];
  let at: unknown = payload;
  for (const part of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string, unknown>)[part];
  }
  return at;
}
