import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '#runtime';
import { permissions, permissionsOf, roles } from './permissions.js';
import type { Person } from './person.js';

const file = 'operator-tokens.json';
const token = z.string().min(16).max(512);
const entry = z
  .strictObject({
    token: token.optional(),
    /** Of the token, so that the file need not hold it. */
    token_hash: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/)
      .optional(),
    subject: z.string().trim().min(1).max(200),
    name: z.string().trim().min(1).max(100),
    roles: z.array(z.enum(roles)),
    permissions: z.array(z.enum(permissions)).optional(),
    organizations: z.union([z.literal('*'), z.array(z.string().min(1).max(63))]),
  })
  .refine((one) => (one.token === undefined) !== (one.token_hash === undefined));

/** A person's token as its hash. */
export interface OperatorToken {
  hash: Buffer;
  person: Person;
}

/** Tokens of the people who use the operator's surface, from `operator-tokens.json`. Throws ConfigError. */
export function loadOperatorTokens(secretsDir: string): OperatorToken[] {
  const path = join(secretsDir, file);
  try {
    const entries = z.array(entry).parse(JSON.parse(readFileSync(path, 'utf8')));
    return entries.map(({ subject, name, ...one }) => ({
      hash: one.token === undefined ? Buffer.from(String(one.token_hash).slice('sha256:'.length), 'hex') : hashOf(one.token),
      person: { subject, name, roles: one.roles, permissions: permissionsOf(one.roles, one.permissions), organizations: one.organizations },
    }));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = code === undefined ? 'does not have the right form' : `cannot be read (${code})`;
    const form =
      '[{"token" (16 characters or more) or "token_hash": "sha256:<hex>", "subject", "name", "roles": [], "organizations": "*" or []}]';
    throw new ConfigError([{ path, problem, fix: `Write it as ${form}` }]);
  }
}

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Finds whose token it is; every one is compared, each in constant time. */
export function tokenFinder(tokens: readonly OperatorToken[]): (given: string) => Person | undefined {
  return (given) => {
    const hash = hashOf(given);
    let found: Person | undefined;
    for (const one of tokens) if (timingSafeEqual(one.hash, hash)) found = one.person;
    return found;
  };
}
