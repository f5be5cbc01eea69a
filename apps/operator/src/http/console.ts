import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { SignIn, SignInNow } from '../people/oidc-discovery.js';

/** Built files lie beside this one in dist/, and in dist/ when this runs from its source. */
const places = [join(import.meta.dirname, '../../../console'), join(import.meta.dirname, '../../../../dist/apps/console')];
const page = 'index.html';
/** Paths of the API: an unknown one is told as such, never answered with the page. */
const api = /^\/(v1|internal|metrics|health)(\/|$)|^\/(openapi|console-config)\.json$/;

const missing = `<!doctype html><html lang="en"><title>Lead delivery</title>
<p>The console is not built here: run <code>npm run build</code>. The same actions are in <code>npm run leadctl -- help</code>.</p></html>`;

/**
 * What a browser may do on a page of the console: load from here alone, run no script or style that stands in a page or a string, be framed by nobody.
 * It may also talk to the issuer that people sign in with: to its own origin and to that of its token endpoint.
 */
export function contentPolicy(signIn?: Pick<SignIn, 'issuer' | 'token_endpoint'>): string {
  const urls = [signIn?.issuer, signIn?.token_endpoint].filter((url) => url !== undefined);
  const origins = new Set(urls.map((url) => new URL(url).origin));
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self' data:",
    ["connect-src 'self'", ...origins].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
}

function guarded(reply: FastifyReply, policy: string): FastifyReply {
  return reply.headers({
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  });
}

/** Where the built console lies; undefined while it is not built. */
const builtConsole = (): string | undefined => places.find((place) => existsSync(join(place, 'assets')));

/**
 * Serves the console under `/`: its assets for ever, its page for every path that is no path of the API, since the console finds its own way.
 * To be called before the application starts to listen.
 */
export async function serveConsole(instance: FastifyInstance, signIn?: SignInNow, root = builtConsole()): Promise<void> {
  if (root !== undefined) await instance.register(fastifyStatic, { root, serve: false });
  instance.get('/*', async (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '/';
    if (api.test(path)) return reply.callNotFound();
    // A page's policy is that of the page; a script or a style has nothing to talk with.
    guarded(reply, contentPolicy(path.startsWith('/assets/') ? undefined : await signIn?.()));
    if (root === undefined) return reply.code(503).type('text/html; charset=utf-8').send(missing);
    if (path.startsWith('/assets/')) return reply.sendFile(path.slice(1), { maxAge: '365d', immutable: true });
    return reply
      .header('cache-control', 'no-cache')
      .type('text/html; charset=utf-8')
      .send(readFileSync(join(root, page)));
  });
}
