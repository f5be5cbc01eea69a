// Sign-in with an identity provider: OpenID Connect authorization code with PKCE. The verifier lives in this tab until the provider sends it back.
import { ApiError } from './client.js';
import { signIn } from './session.js';
import type { ConsoleConfig } from './types.js';

const pendingKey = 'lead-delivery.sign-in';
export const callbackPath = '/signed-in';

type Oidc = NonNullable<ConsoleConfig['oidc']>;

interface Pending {
  state: string;
  verifier: string;
  issuer: string;
  tokenEndpoint: string;
  clientId: string;
  /** Where the person wanted to go. */
  target: string;
}

/** Empty when the answer cannot be had: then a token is asked for. */
export async function consoleConfig(): Promise<ConsoleConfig> {
  const response = await fetch('/console-config.json', { cache: 'no-store' });
  return response.ok ? ((await response.json()) as ConsoleConfig) : {};
}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));
const redirectUri = (): string => `${location.origin}${callbackPath}`;

/** Why nobody can sign in with the provider now; undefined: they can. */
export function whyNoProvider({ authorization_endpoint: page, token_endpoint: tokens }: Oidc): string | undefined {
  if (!isSecureContext) return 'A browser signs in only where the console is served over https, or at this very machine';
  return page === undefined || tokens === undefined
    ? 'The identity provider does not answer now: load this page again in a moment'
    : undefined;
}

/** Leaves the console for the provider's own page. Rejects when the provider cannot be asked. */
export async function goToProvider(oidc: Oidc, target: string): Promise<void> {
  const { issuer, client_id: clientId, authorization_endpoint: page, token_endpoint: tokenEndpoint } = oidc;
  const why = whyNoProvider(oidc);
  if (page === undefined || tokenEndpoint === undefined || why !== undefined) throw new ApiError(0, why ?? 'Not now');
  const pending: Pending = { state: random(), verifier: random(), issuer, tokenEndpoint, clientId, target };
  sessionStorage.setItem(pendingKey, JSON.stringify(pending));
  const challenge = base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(pending.verifier))));
  const address = new URL(page);
  const asked = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri(),
    scope: 'openid profile',
    state: pending.state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
  location.assign(address);
}

/** Exchanges the code in the address for a token, and gives the path the person wanted. Throws ApiError. */
export async function comeBack(search: string): Promise<string> {
  const query = new URLSearchParams(search);
  const pending = takePending(query);
  const code = query.get('code');
  if (query.has('error')) throw new ApiError(0, 'The identity provider refused', { detail: query.get('error_description') ?? undefined });
  if (code === null) throw notBegunHere();
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri(),
    client_id: pending.clientId,
    code_verifier: pending.verifier,
  };
  const response = await fetch(pending.tokenEndpoint, { method: 'POST', body: new URLSearchParams(form), credentials: 'omit' }).catch(
    () => {
      throw new ApiError(0, 'The identity provider does not answer this page', {
        detail: 'Its token endpoint must be reachable from here and allow the address of the console (CORS).',
      });
    },
  );
  const answer = (await response.json().catch(() => ({}))) as { access_token?: string };
  if (!response.ok || answer.access_token === undefined) throw new ApiError(response.status, 'The identity provider gave no token');
  signIn(answer.access_token);
  return pending.target;
}

const notBegunHere = () => new ApiError(0, 'This sign-in was not begun in this tab', { detail: 'Begin it again from the sign-in page.' });

/** What was begun in this tab, once. Throws ApiError where the answer is to something else, or of another issuer (RFC 9207). */
function takePending(query: URLSearchParams): Pending {
  const stored = sessionStorage.getItem(pendingKey);
  sessionStorage.removeItem(pendingKey);
  const pending = stored === null ? undefined : (JSON.parse(stored) as Pending);
  if (pending === undefined || pending.state !== query.get('state')) throw notBegunHere();
  if (query.has('iss') && query.get('iss') !== pending.issuer) throw notBegunHere();
  return pending;
}
