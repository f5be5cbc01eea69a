// Sign-in with an identity provider: OpenID Connect authorization code with PKCE. The verifier lives in this tab until the provider sends it back.
import { ApiError } from './client.js';
import { signIn } from './session.js';
import type { ConsoleConfig } from './types.js';

const pendingKey = 'lead-delivery.sign-in';
export const callbackPath = '/signed-in';

type Oidc = NonNullable<ConsoleConfig['oidc']>;

interface Endpoints {
  authorization_endpoint: string;
  token_endpoint: string;
}

interface Pending {
  state: string;
  verifier: string;
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

async function endpointsOf(oidc: Oidc): Promise<Endpoints> {
  const { authorization_endpoint, token_endpoint } = oidc;
  if (authorization_endpoint !== undefined && token_endpoint !== undefined) return { authorization_endpoint, token_endpoint };
  const response = await fetch(`${oidc.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  if (!response.ok) throw new ApiError(response.status, 'The identity provider does not say where to sign in');
  return (await response.json()) as Endpoints;
}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));
const redirectUri = (): string => `${location.origin}${callbackPath}`;

/** Leaves the console for the provider's own page. Rejects when the provider cannot be asked. */
export async function goToProvider(oidc: Oidc, target: string): Promise<void> {
  const { authorization_endpoint, token_endpoint } = await endpointsOf(oidc);
  const pending: Pending = { state: random(), verifier: random(), tokenEndpoint: token_endpoint, clientId: oidc.client_id, target };
  sessionStorage.setItem(pendingKey, JSON.stringify(pending));
  const challenge = base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(pending.verifier))));
  const address = new URL(authorization_endpoint);
  const asked = {
    response_type: 'code',
    client_id: oidc.client_id,
    redirect_uri: redirectUri(),
    scope: oidc.scope ?? 'openid profile',
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
  const stored = sessionStorage.getItem(pendingKey);
  sessionStorage.removeItem(pendingKey);
  const code = query.get('code');
  if (query.has('error')) throw new ApiError(0, 'The identity provider refused', { detail: query.get('error_description') ?? undefined });
  if (stored === null || code === null) throw new ApiError(0, 'This sign-in was not begun in this tab');
  const pending = JSON.parse(stored) as Pending;
  if (pending.state !== query.get('state')) throw new ApiError(0, 'This sign-in was not begun in this tab');
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri(),
    client_id: pending.clientId,
    code_verifier: pending.verifier,
  };
  const response = await fetch(pending.tokenEndpoint, { method: 'POST', body: new URLSearchParams(form) });
  const answer = (await response.json().catch(() => ({}))) as { access_token?: string };
  if (!response.ok || answer.access_token === undefined) throw new ApiError(response.status, 'The identity provider gave no token');
  signIn(answer.access_token);
  return pending.target;
}
