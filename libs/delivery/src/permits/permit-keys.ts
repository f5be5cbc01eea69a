import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JSONWebKeySet, JWK } from 'jose';
import { z } from 'zod';
import { ConfigError } from '#runtime';

const key = { kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string().min(40), kid: z.string().min(1) };
const privateKey = z.object({ ...key, d: z.string().min(40) });
const publicKeys = z.object({ keys: z.array(z.object(key)).min(1) });

/** A private key that operator signs with. Throws ConfigError. */
export function loadSigningKey(file: string): JWK {
  return read(file, privateKey, 'an Ed25519 private key as JWK with kid');
}

/** The public keys for it: during a change of keys the old and the new one. Throws ConfigError. */
export function loadVerifyingKeys(file: string): JSONWebKeySet {
  return read(file, publicKeys, 'a JWK set of Ed25519 public keys with kid');
}

/** Signs permits; only the operator service has it. From `permit-private.json`. Throws ConfigError. */
export function loadPermitPrivateKey(secretsDir: string): JWK {
  return loadSigningKey(join(secretsDir, 'permit-private.json'));
}

/** Verify permits; every service that delivers has them. From `permit-public.json`. Throws ConfigError. */
export function loadPermitPublicKeys(secretsDir: string): JSONWebKeySet {
  return loadVerifyingKeys(join(secretsDir, 'permit-public.json'));
}

function read<S extends z.ZodType>(file: string, schema: S, form: string): z.infer<S> {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = code === undefined ? 'does not have the right form' : `cannot be read (${code})`;
    throw new ConfigError([{ path: file, problem, fix: `Write it as ${form}; deploy/make-secrets.mjs makes both files` }]);
  }
}
