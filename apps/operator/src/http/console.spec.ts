import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type FastifyInstance, fastify } from 'fastify';
import { contentPolicy, serveConsole } from './console.js';

describe('the console under /', () => {
  const root = mkdtempSync(join(tmpdir(), 'console-'));
  let instance: FastifyInstance;
  beforeAll(async () => {
    mkdirSync(join(root, 'assets'));
    writeFileSync(join(root, 'index.html'), '<p>the page</p>');
    writeFileSync(join(root, 'assets', 'index-1a2b.js'), 'run()');
    writeFileSync(join(root, '.built-from'), 'secret of the build');
    instance = fastify();
    await serveConsole(instance, () => Promise.resolve({ issuer: 'https://sign-in.example.test/realm', client_id: 'console' }), root);
  });
  afterAll(async () => {
    await instance.close();
    rmSync(root, { recursive: true });
  });
  const ask = (url: string) => instance.inject({ method: 'GET', url });

  it.each(['/', '/queues/dead?class=auth', '/leads/0189', '/signed-in?code=1'])('gives its page at %s, never from a cache', async (url) => {
    const { statusCode, headers, body } = await ask(url);
    expect({ statusCode, body }).toEqual({ statusCode: 200, body: '<p>the page</p>' });
    expect(headers['cache-control']).toBe('no-cache');
    expect(headers['content-security-policy']).toContain("script-src 'self'");
  });

  it('lets assets be kept for ever, and says when there is none of a name', async () => {
    const { headers, body } = await ask('/assets/index-1a2b.js');
    expect(body).toBe('run()');
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect((await ask('/assets/index-gone.js')).statusCode).toBe(404);
  });

  it.each(['/v1/nothing', '/v1', '/openapi.json', '/console-config.json', '/internal/v1/x'])('does not stand in for %s', async (url) =>
    expect((await ask(url)).statusCode).toBe(404),
  );

  it.each(['/.built-from', '/assets/../.built-from', '/assets/%2e%2e/.built-from', '/assets/..%2f.built-from'])(
    'gives no other file of its folder at %s',
    async (url) => expect((await ask(url)).body).not.toContain('secret'),
  );

  it('lets the page talk to the issuer and its token endpoint, and to nobody else', async () => {
    const connects = (policy: unknown) => /connect-src ([^;]*)/.exec(String(policy))?.[1];
    const issuer = 'https://sign-in.example.test/realm';
    expect(connects(contentPolicy({ issuer, token_endpoint: `${issuer}/token` }))).toBe("'self' https://sign-in.example.test");
    expect(connects(contentPolicy({ issuer, token_endpoint: 'https://tokens.example.test/t' }))).toBe(
      "'self' https://sign-in.example.test https://tokens.example.test",
    );
    expect(connects((await ask('/queues')).headers['content-security-policy'])).toBe("'self' https://sign-in.example.test");
    expect(connects((await ask('/assets/index-1a2b.js')).headers['content-security-policy'])).toBe("'self'");
    expect(contentPolicy()).not.toMatch(/unsafe|https?:/);
  });
});
