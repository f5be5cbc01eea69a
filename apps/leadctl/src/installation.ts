import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError, type InternalClient, internalClient, internalEnv, loadEnv, loadInternalTokens, siteEnv } from '#runtime';

/** A running installation: where its services' internal APIs are, and the tokens that open them. */
export interface Installation {
  /** Base URL by service name. */
  urls: Record<string, string>;
  /** Bearer token by caller name. */
  tokens: Record<string, string>;
}

const endpoints = z.object({ internal: z.record(z.string(), z.string()) });
/** Where `npm start` keeps its state unless it is told otherwise. */
const defaultRunDir = join(import.meta.dirname, '../../../../.run');

/**
 * The installation in a run directory (of `npm start`). Without one, that of the environment (INTERNAL_URLS, LD_SECRETS_DIR) where it is set,
 * else the default run directory. Throws ConfigError.
 */
export function findInstallation(runDir: string | undefined, env: NodeJS.ProcessEnv): Installation {
  if (runDir === undefined && env.INTERNAL_URLS !== undefined) return fromEnvironment(env);
  const dir = runDir === undefined ? defaultRunDir : fromCaller(runDir, env);
  return { urls: readEndpoints(join(dir, 'endpoints.json')), tokens: loadInternalTokens(join(dir, 'secrets')) };
}

/** A client of one service, as one caller. Throws ConfigError where the installation names neither. */
export function clientOf({ urls, tokens }: Installation, service: string, options: { caller: string; timeoutMs: number }): InternalClient {
  const { caller, timeoutMs } = options;
  const [baseUrl, token] = [urls[service], tokens[caller]];
  if (baseUrl === undefined) throw wrong(`internal.${service}`, 'is not named', 'Start this service, or add its URL');
  if (token === undefined) throw wrong(`internal-tokens.json: ${caller}`, 'is missing', 'Add a token of 16 characters or more');
  return internalClient({ baseUrl, token, timeoutMs });
}

function fromEnvironment(env: NodeJS.ProcessEnv): Installation {
  const { INTERNAL_URLS, LD_SECRETS_DIR } = loadEnv(
    z.object({ INTERNAL_URLS: internalEnv.INTERNAL_URLS, LD_SECRETS_DIR: siteEnv.LD_SECRETS_DIR }),
    env,
  );
  return { urls: INTERNAL_URLS, tokens: loadInternalTokens(LD_SECRETS_DIR) };
}

function readEndpoints(file: string): Record<string, string> {
  const fix = 'Start an instance there with npm start, or name another directory with --run-dir';
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw wrong(file, `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`, fix);
  }
  try {
    return endpoints.parse(JSON.parse(text)).internal;
  } catch {
    throw wrong(file, 'does not have the right form', fix);
  }
}

/** npm runs scripts in the project's folder and keeps the caller's in INIT_CWD. */
function fromCaller(path: string, env: NodeJS.ProcessEnv): string {
  return isAbsolute(path) ? path : resolve(env.INIT_CWD ?? process.cwd(), path);
}

function wrong(path: string, problem: string, fix: string): ConfigError {
  return new ConfigError([{ path, problem, fix }]);
}
