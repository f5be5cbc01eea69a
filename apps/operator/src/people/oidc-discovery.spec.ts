import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { OidcConfig } from '#runtime';
import { silent } from '../../test/rig.js';
import { discover, signInWith } from './oidc-discovery.js';

let answer: object | undefined;
let asked = 0;
const server = createServer((_request, response) => {
  asked += 1;
  if (answer === undefined) return void response.writeHead(500).end();
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(answer));
});
let issuer: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  asked = 0;
  answer = { issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/jwks` };
});
const signIn = (clientId?: string) => signInWith({ oidc: { issuer, clientId } as OidcConfig, logger: silent });

describe('signing in to the console', () => {
  it('is by pasted tokens where the site names no issuer, or no client of it', async () => {
    expect(await signInWith({ oidc: undefined, logger: silent })()).toBeUndefined();
    expect(await signIn()()).toBeUndefined();
    expect(asked).toBe(0);
  });

  it('knows the endpoints of the issuer, which is asked once', async () => {
    const now = signIn('console');
    const known = { issuer, client_id: 'console', authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
    expect([await now(), await now()]).toEqual([known, known]);
    expect(asked).toBe(1);
  });

  it('knows no endpoints while the issuer does not answer, and does not ask it for each page', async () => {
    answer = undefined;
    const now = signIn('console');
    expect([await now(), await now()]).toEqual([
      { issuer, client_id: 'console' },
      { issuer, client_id: 'console' },
    ]);
    expect(asked).toBe(1);
  });

  it('takes no endpoint that is none of the web', async () => {
    answer = { issuer, authorization_endpoint: 'javascript:alert(1)', token_endpoint: `${issuer}/token` };
    expect(await signIn('console')()).toEqual({ issuer, client_id: 'console' });
  });
});

describe('a discovery document', () => {
  it('of another issuer is refused', async () => {
    answer = { issuer: 'https://id.example.test', jwks_uri: `${issuer}/jwks` };
    await expect(discover(issuer)).rejects.toThrow('another issuer');
  });
});
