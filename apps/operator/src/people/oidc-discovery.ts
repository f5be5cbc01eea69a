import { z } from 'zod';
import type { Logger, OidcConfig } from '#runtime';

const fetchTimeoutMs = 3_000;
/** How long an issuer that did not answer is not asked again for the console's sake. */
const restMs = 10_000;

const webUrl = z.url({ protocol: /^https?$/ });
const document = z.object({
  issuer: z.string(),
  jwks_uri: webUrl.optional(),
  authorization_endpoint: webUrl.optional(),
  token_endpoint: webUrl.optional(),
});
export type DiscoveryDocument = z.infer<typeof document>;

/** What the issuer says of itself, over one connection and without redirects. Rejects while it cannot be had or is that of another issuer. */
export async function discover(issuer: string): Promise<DiscoveryDocument> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(fetchTimeoutMs) });
  if (!answer.ok) throw new Error(`The discovery document answered ${answer.status}`);
  const found = document.parse(await answer.json());
  if (found.issuer !== issuer) throw new Error('The discovery document is that of another issuer');
  return found;
}

/** How the console signs people in. */
export interface SignIn {
  issuer: string;
  client_id: string;
  /** Both or neither: the issuer does not answer now. */
  authorization_endpoint?: string;
  token_endpoint?: string;
}

/** Gives how people sign in now; undefined: they paste a token. */
export type SignInNow = () => Promise<SignIn | undefined>;

/**
 * Asks the issuer for its endpoints when they are first needed and keeps them. The browser asks the token endpoint alone, so that an issuer need not
 * let other sites read its discovery document.
 */
export function signInWith({ oidc, logger }: { oidc: OidcConfig | undefined; logger: Logger }): SignInNow {
  if (oidc?.clientId === undefined) return () => Promise.resolve(undefined);
  const known = { issuer: oidc.issuer, client_id: oidc.clientId };
  let asking: Promise<SignIn> | undefined;
  return () => {
    asking ??= endpointsOf(oidc.issuer).then(
      (endpoints) => ({ ...known, ...endpoints }),
      (error: unknown) => {
        logger.warn({ unit: 'people', err: error }, 'The issuer does not say where people sign in');
        setTimeout(() => {
          asking = undefined;
        }, restMs).unref();
        return known;
      },
    );
    return asking;
  };
}

async function endpointsOf(issuer: string): Promise<Required<Pick<SignIn, 'authorization_endpoint' | 'token_endpoint'>>> {
  const { authorization_endpoint, token_endpoint } = await discover(issuer);
  if (authorization_endpoint === undefined || token_endpoint === undefined) throw new Error('The discovery document names no endpoints');
  for (const endpoint of [authorization_endpoint, token_endpoint]) {
    if (issuer.startsWith('https:') && !endpoint.startsWith('https:')) throw new Error('An endpoint of the issuer is not encrypted');
  }
  return { authorization_endpoint, token_endpoint };
}
