import { statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { loadPermitPrivateKey, loadSigningKey, loadVerifyingKeys } from '#delivery';
import { ConfigError, KeyRing, loadHmacSecret, loadInternalTokens, parseSecretJson, resolveSecret, type Site } from '#runtime';
import { type Finding, fine, wrong } from './finding.js';

type Reader = (dir: string) => unknown;

/** Files of an installation, each with what reads it. */
const files: Readonly<Record<string, Reader>> = {
  'keyring.json': (dir) => KeyRing.fromFile(join(dir, 'keyring.json')),
  'hmac.key': loadHmacSecret,
  'internal-tokens.json': loadInternalTokens,
  'permit-private.json': loadPermitPrivateKey,
  'permit-public.json': (dir) => loadVerifyingKeys(join(dir, 'permit-public.json')),
  'audit-private.json': (dir) => loadSigningKey(join(dir, 'audit-private.json')),
  'audit-public.json': (dir) => loadVerifyingKeys(join(dir, 'audit-public.json')),
  'operator-tokens.json': (dir) =>
    parseSecretJson(
      join(dir, 'operator-tokens.json'),
      z.array(z.looseObject({ subject: z.string(), roles: z.array(z.string()) })),
      'a JSON array of people, see docs/people.md',
    ),
};

/** Files of secrets: there, readable, whole, and nobody else's to read. Contents are read and never shown. */
export function checkSecrets(dir: string, site: Site | undefined): Finding[] {
  const own = Object.entries(files).map(([file, read]) => checkFile(join(dir, file), () => read(dir)));
  const refs = [
    ...Object.values(site?.destinations ?? {}).map(({ name, secret }) => [`destination ${name}`, secret] as const),
    ...Object.values(site?.channels ?? {}).flatMap((channel) =>
      'token' in channel ? [[`channel ${channel.name}`, channel.token] as const] : [],
    ),
  ];
  const named = refs.map(([whose, ref]) => {
    if ('file' in ref) return { ...checkFile(join(dir, ref.file), () => resolveSecret(ref, dir)), what: `secret of ${whose}` };
    return read(`secret of ${whose}`, `variable ${ref.env}`, () => resolveSecret(ref, dir));
  });
  return [...own, ...named];
}

function checkFile(path: string, parse: () => unknown): Finding {
  const found = read(path, 'readable, and its owner’s alone', parse);
  if (!found.ok) return found;
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) === 0) return found;
  return wrong(path, `others may use it (mode ${mode.toString(8)})`, `chmod 600 ${path}`);
}

function read(what: string, detail: string, parse: () => unknown): Finding {
  try {
    parse();
    return fine(what, detail);
  } catch (error) {
    const [first] = error instanceof ConfigError ? error.problems : [];
    return wrong(what, first?.problem ?? 'cannot be used', first?.fix ?? 'Write it anew');
  }
}
