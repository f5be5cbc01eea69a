import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { ConfigError, type ConfigProblem } from './config-error.js';

/** Where a secret is kept: a file relative to the secrets folder, or an environment variable. */
export type SecretRef = { file: string } | { env: string };

/** The secret's text without surrounding white space. Throws ConfigError when it is missing or empty. */
export function resolveSecret(ref: SecretRef, secretsDir: string, env: NodeJS.ProcessEnv = process.env): string {
  if ('file' in ref) return readSecretFile(isAbsolute(ref.file) ? ref.file : join(secretsDir, ref.file));
  const text = env[ref.env]?.trim();
  if (text === undefined || text === '') throw wrong(ref.env, 'is not set', 'Set this variable to the secret');
  return text;
}

/** Bearer tokens of the internal API by caller name, from `internal-tokens.json`. Throws ConfigError. */
export function loadInternalTokens(secretsDir: string): Record<string, string> {
  const file = join(secretsDir, 'internal-tokens.json');
  return parseSecretJson(
    file,
    z.record(z.string().min(1), z.string().min(16)),
    'a JSON map of caller name to token (16 characters or more)',
  );
}

/** The HMAC master secret, from `hmac.key` (base64, 32 bytes). Throws ConfigError. */
export function loadHmacSecret(secretsDir: string): Buffer {
  const file = join(secretsDir, 'hmac.key');
  const secret = decodeKey(readSecretFile(file));
  if (secret === undefined) throw wrong(file, 'is not a key', 'Write 32 random bytes as base64, for example with: openssl rand -base64 32');
  return secret;
}

/** 32 bytes from base64; undefined for anything else. */
export function decodeKey(text: string): Buffer | undefined {
  const key = Buffer.from(text, 'base64');
  return key.length === 32 && /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? key : undefined;
}

/** Parses a secret JSON file; a ConfigError names the file and the form, never the content. */
export function parseSecretJson<S extends z.ZodType>(file: string, schema: S, form: string): z.infer<S> {
  const text = readSecretFile(file);
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw wrong(file, 'does not have the right form', `Write it as ${form}`);
  }
}

function readSecretFile(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw wrong(
      file,
      `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
      'Create it, readable by this process alone',
    );
  }
  if (text === '') throw wrong(file, 'is empty', 'Write the secret into it');
  return text;
}

function wrong(path: string, problem: ConfigProblem['problem'], fix: ConfigProblem['fix']): ConfigError {
  return new ConfigError([{ path, problem, fix }]);
}
