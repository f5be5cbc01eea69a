import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '#runtime';

const keys = z.record(z.string().min(1).max(100), z.string().min(16));

/** Keys of the people who decide about dead letters, by name, from `operator-keys.json`. Throws ConfigError. */
export function loadPeople(secretsDir: string): Record<string, string> {
  const file = join(secretsDir, 'operator-keys.json');
  try {
    return keys.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = code === undefined ? 'does not have the right form' : `cannot be read (${code})`;
    throw new ConfigError([{ path: file, problem, fix: 'Write it as a JSON map of person to key (16 characters or more)' }]);
  }
}

const scheme = 'Bearer ';
const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Finds who asks by the Authorization header; every key is compared, each in constant time. */
export function personFinder(people: Readonly<Record<string, string>>): (authorization: string | undefined) => string | undefined {
  const hashed = Object.entries(people).map(([person, key]) => ({ person, hash: hashOf(key) }));
  return (authorization) => {
    if (authorization?.startsWith(scheme) !== true) return undefined;
    const given = hashOf(authorization.slice(scheme.length));
    let found: string | undefined;
    for (const { person, hash } of hashed) if (timingSafeEqual(hash, given)) found = person;
    return found;
  };
}
