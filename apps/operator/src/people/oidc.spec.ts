import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import type { OidcConfig } from '#runtime';
import { silent } from '../../test/rig.js';
import { Refusal } from '../http/refusal.js';
import { identifier } from './identify.js';
import { oidcVerifier } from './oidc.js';
import type { Person } from './person.js';

interface Pair {
  privateKey: CryptoKey;
  publicKey: CryptoKey;
  alg: string;
  jwk: JWK;
}

async function pair(alg: string, kid: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, publicKey, alg, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** An issuer as it stands on the network: a discovery document and a set of keys. */
class Issuer {
  keys: JWK[] = [];
  fetched = 0;
  broken = false;
  private readonly server = createServer((request, response) => {
    if (this.broken) return void response.writeHead(500).end();
    response.setHeader('content-type', 'application/json');
    if (request.url === '/.well-known/openid-configuration') {
      return void response.end(JSON.stringify({ issuer: this.url, jwks_uri: `${this.url}/keys` }));
    }
    this.fetched += 1;
    response.end(JSON.stringify({ keys: this.keys }));
  });

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

const issuer = new Issuer();
let keys: Pair[];
let oidc: OidcConfig;
let verify: (token: string) => Promise<Person | undefined>;

beforeAll(async () => {
  await issuer.start();
  keys = await Promise.all(['RS256', 'ES256', 'EdDSA'].map((alg) => pair(alg, `key-${alg}`)));
});
afterAll(() => issuer.stop());
beforeEach(() => {
  issuer.keys = keys.map(({ jwk }) => jwk);
  issuer.broken = false;
  issuer.fetched = 0;
  oidc = {
    issuer: issuer.url,
    audience: 'lead-delivery',
    subjectClaim: 'sub',
    nameClaim: 'name',
    rolesClaim: 'realm_access.roles',
    organizationsClaim: 'organizations',
    roleMap: { duty: 'operator', lead: 'approver' },
  };
  verify = oidcVerifier({ oidc, logger: silent, cooldownMs: 0 });
});

const seconds = (): number => Math.floor(Date.now() / 1_000);

async function tokenOf(changes: JWTPayload = {}, { privateKey, alg, jwk }: Pair = keys[0] as Pair): Promise<string> {
  const claims = {
    iss: issuer.url,
    aud: 'lead-delivery',
    sub: 'user-1',
    name: 'Nina',
    iat: seconds(),
    exp: seconds() + 300,
    realm_access: { roles: ['duty', 'root', 'constructor'] },
    organizations: ['demo'],
    ...changes,
  };
  return new SignJWT(claims).setProtectedHeader({ alg, kid: jwk.kid }).sign(privateKey);
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a token of the issuer', () => {
  it.each(['RS256', 'ES256', 'EdDSA'])(
    'signed with %s says who its person is, and what the roles that the site names allow',
    async (alg) => {
      const person = await verify(
        await tokenOf(
          {},
          keys.find((key) => key.alg === alg),
        ),
      );
      expect(person).toEqual({
        subject: 'user-1',
        name: 'Nina',
        roles: ['operator'],
        permissions: ['list', 'reveal', 'replay_request', 'configure'],
        organizations: ['demo'],
      });
    },
  );

  it('without roles and organizations may do and see nothing', async () => {
    const person = await verify(await tokenOf({ realm_access: undefined, organizations: undefined }));
    expect(person).toMatchObject({ roles: [], permissions: [], organizations: [] });
  });

  it('may name its claims with a URL', async () => {
    verify = oidcVerifier({ oidc: { ...oidc, rolesClaim: 'https://id.example.test/roles' }, logger: silent });
    const token = await tokenOf({ 'https://id.example.test/roles': ['lead'], organizations: '*' });
    expect(await verify(token)).toMatchObject({ roles: ['approver'], organizations: '*' });
  });

  it.each([
    ['is of another audience', { aud: 'another-app' }],
    ['is of another issuer', { iss: 'https://id.example.test' }],
    ['is not valid yet', { nbf: seconds() + 120 }],
    ['has no end', { exp: undefined }],
    ['is of nobody', { sub: undefined }],
  ])('that %s is of nobody', async (_what, changes) => {
    expect(await verify(await tokenOf(changes))).toBeUndefined();
  });

  it('is good for 30 s beyond its end, because clocks differ, and then refused by name', async () => {
    expect(await verify(await tokenOf({ exp: seconds() - 20 }))).toMatchObject({ subject: 'user-1' });
    const late = verify(await tokenOf({ exp: seconds() - 40 }));
    await expect(late).rejects.toMatchObject({ problem: { status: 401, detail: expect.stringContaining('expired') } });
  });

  it('without a signature is of nobody', async () => {
    const [, claims = ''] = (await tokenOf()).split('.');
    expect(await verify(`${part({ alg: 'none' })}.${claims}.`)).toBeUndefined();
    expect(await verify(`${part({ alg: 'none', kid: 'key-RS256' })}.${claims}.`)).toBeUndefined();
  });

  it('signed with the public key as if it were a shared secret is of nobody', async () => {
    const { publicKey, jwk } = keys[0] as Pair;
    for (const secret of [await exportSPKI(publicKey), JSON.stringify(jwk)]) {
      const claims = { iss: issuer.url, aud: 'lead-delivery', sub: 'user-1', exp: seconds() + 300 };
      const forged = new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: jwk.kid });
      expect(await verify(await forged.sign(Buffer.from(secret)))).toBeUndefined();
    }
  });

  it("changed after it was signed, or signed by a key of the same name that is not the issuer's, is of nobody", async () => {
    const [header = '', claims = '', signature = ''] = (await tokenOf()).split('.');
    const raised = { ...(JSON.parse(Buffer.from(claims, 'base64url').toString()) as object), sub: 'user-2' };
    expect(await verify(`${header}.${part(raised)}.${signature}`)).toBeUndefined();
    expect(await verify(await tokenOf({}, await pair('RS256', 'key-RS256')))).toBeUndefined();
  });

  it('signed by a key that is not known is of nobody until the issuer publishes that key', async () => {
    const next = await pair('ES256', 'next');
    expect(await verify(await tokenOf({}, next))).toBeUndefined();
    issuer.keys = [next.jwk];
    expect(await verify(await tokenOf({}, next))).toMatchObject({ subject: 'user-1' });
    expect(await verify(await tokenOf())).toBeUndefined();
  });

  it('makes the keys be fetched once, not for each request, and not for each unknown key either', async () => {
    verify = oidcVerifier({ oidc, logger: silent });
    const stranger = await pair('ES256', 'stranger');
    for (let count = 0; count < 5; count += 1) {
      await verify(await tokenOf());
      await verify(await tokenOf({}, stranger));
    }
    expect(issuer.fetched).toBe(1);
  });
});

describe('while the issuer cannot be asked', () => {
  it('its tokens are refused for now, not for good, and tokens of the file are as good as ever', async () => {
    issuer.broken = true;
    const hash = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from('a-token-of-the-file')));
    const filed: Person = { subject: 'ada', name: 'Ada', roles: ['admin'], permissions: [], organizations: '*' };
    const identify = identifier({ tokens: [{ hash, person: filed }], verify });
    const token = await tokenOf();
    const refused: unknown = await identify(`Bearer ${token}`).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Refusal);
    expect(refused).toMatchObject({ problem: { status: 503 } });
    expect(await identify('Bearer a-token-of-the-file')).toBe(filed);
    issuer.broken = false;
    expect(await identify(`Bearer ${token}`)).toMatchObject({ subject: 'user-1' });
  });
});

describe('what is no token', () => {
  it.each([undefined, '', 'Bearer', 'Basic YTpi', 'Bearer a b', `Bearer ${'x'.repeat(20_000)}`, 'Bearer a.b.c'])(
    '(%#) is of nobody',
    async (text) => {
      expect(await identifier({ tokens: [], verify })(text)).toBeUndefined();
    },
  );
});
