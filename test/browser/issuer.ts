// An issuer of tokens as a company has one: a certified OpenID provider on this machine, with a sign-in page of its own, authorization code with
// PKCE for a public client, and access tokens that are JWTs. Nobody on it exists.
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

export const clientId = 'lead-delivery-console';
export const audience = 'lead-delivery';
/** Roles as the issuer calls them, by who has them. */
const staff: Readonly<Record<string, readonly string[]>> = { 'nina.duty': ['duty'], 'lars.lead': ['lead'] };
/** What the site file makes of them. */
export const roleMap = { duty: 'operator', lead: 'approver' };
const resource = 'urn:lead-delivery:operator';

export interface Issuer {
  url: string;
  /** Lets the console at this address sign people in, and no other. */
  admit: (consoleUrl: string) => Promise<void>;
  /** Paths that were asked for, without their queries. */
  asked: string[];
  stop: () => Promise<void>;
}

/** Starts it on a free port. It answers 503 until a console is admitted. */
export async function startIssuer(): Promise<Issuer> {
  const asked: string[] = [];
  let listener: RequestListener = (_request, response) => void response.writeHead(503).end();
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url?.split('?')[0]}`);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    asked,
    admit: async (consoleUrl) => {
      listener = listenerOf(await providerFor(url, consoleUrl));
    },
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function providerFor(url: string, consoleUrl: string): Promise<Provider> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return new Provider(url, {
    clients: [
      {
        client_id: clientId,
        redirect_uris: [`${consoleUrl}/signed-in`],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'k1', alg: 'RS256', use: 'sig' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    clientBasedCORS: (_ctx, origin) => origin === consoleUrl,
    findAccount: (_ctx, id) => (staff[id] === undefined ? undefined : { accountId: id, claims: () => ({ sub: id }) }),
    extraTokenClaims: (_ctx, token) => {
      const who = 'accountId' in token ? String(token.accountId) : '';
      return { name: who, roles: staff[who] ?? [], organizations: '*' };
    },
    interactions: { url: (_ctx, { uid }) => `/sign-in/${uid}` },
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session?.accountId });
      grant.addOIDCScope('openid profile');
      grant.addResourceScope(resource, 'profile');
      await grant.save();
      return grant;
    },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: 'profile', audience, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
      },
    },
    ttl: { AccessToken: 300, Interaction: 300, Session: 300, Grant: 300 },
  });
}

const page = `<!doctype html><html lang="en"><title>Staff sign-in</title><main><h1>Staff sign-in</h1>
<form method="post"><label>Name <input name="who" autofocus></label><button>Continue</button></form></main></html>`;

function listenerOf(provider: Provider): RequestListener {
  const callback = provider.callback();
  return (request, response) => {
    if (!request.url?.startsWith('/sign-in/')) return void callback(request, response);
    if (request.method === 'GET') return void response.setHeader('content-type', 'text/html').end(page);
    void signIn(provider, request, response);
  };
}

async function signIn(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const piece of request) body += String(piece);
  const accountId = new URLSearchParams(body).get('who') ?? '';
  if (staff[accountId] === undefined) return void response.setHeader('content-type', 'text/html').end(page);
  await provider.interactionFinished(request, response, { login: { accountId } }, { mergeWithLastSubmission: false });
}
