// node make-secrets.mjs DIR [UID]: makes the keys and tokens of one installation in DIR, mode 0600, owned by UID if given. What is there is kept:
// a vault key that was replaced could not open what it sealed. Only Node itself is needed, so that it runs before anything is built.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [dir, uid] = process.argv.slice(2);
if (!dir) throw new Error('usage: node make-secrets.mjs DIR [UID]');

const key = () => randomBytes(32).toString('base64');
const token = () => randomBytes(24).toString('base64url');
const callers = ['intake', 'crm-writer', 'notifier', 'reconciler', 'operator', 'leadctl'];

/** Who may look and decide on the operator's surface, one per role; a real installation names its own people or an OIDC issuer. */
const people = [
  { subject: 'vera', name: 'Vera (viewer)', roles: ['viewer'] },
  { subject: 'oscar', name: 'Oscar (operator)', roles: ['operator'] },
  { subject: 'alma', name: 'Alma (approver)', roles: ['approver'] },
  { subject: 'ada', name: 'Ada (admin)', roles: ['admin'] },
];

/** For permits of approved items, and for the head of the audit chain. Only the operator service needs the private halves; nobody else gets them. */
const signingKey = () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  return JSON.stringify({ ...privateKey.export({ format: 'jwk' }), kid: randomBytes(6).toString('base64url') });
};
const publicHalf = (privateFile) => {
  const { d: _secret, ...open } = JSON.parse(readFileSync(join(dir, privateFile), 'utf8'));
  return JSON.stringify({ keys: [open] });
};

/** In the order of making: the public half is taken from the private one. */
const files = {
  'keyring.json': () => JSON.stringify({ current: 'k1', keys: { k1: key() } }),
  'hmac.key': key,
  'internal-tokens.json': () => JSON.stringify(Object.fromEntries(callers.map((caller) => [caller, token()]))),
  'permit-private.json': signingKey,
  'permit-public.json': () => publicHalf('permit-private.json'),
  'audit-private.json': signingKey,
  'audit-public.json': () => publicHalf('audit-private.json'),
  'operator-tokens.json': () =>
    JSON.stringify(
      people.map((person) => ({ token: token(), ...person, organizations: '*' })),
      null,
      2,
    ),
  'crm-secret': () => `whsec_${key()}`,
  'marketing-secret': () => `whsec_${key()}`,
  'chat-token': () => `1:${token()}`,
  // Known to everybody who reads this file; its hash stands in docker-compose.yml. A real source has a key of its own.
  'source-key-website': () => 'demo-source-key-for-this-machine-only',
};

mkdirSync(dir, { recursive: true, mode: 0o700 });
if (uid) chownSync(dir, Number(uid), Number(uid));
for (const [name, make] of Object.entries(files)) {
  const file = join(dir, name);
  if (existsSync(file)) continue;
  writeFileSync(file, `${make()}\n`, { mode: 0o600 });
  if (uid) chownSync(file, Number(uid), Number(uid));
  console.log(`made ${name}`);
}

// An installation made before a caller existed gets that caller's token; those in use stay.
const tokensFile = join(dir, 'internal-tokens.json');
const tokens = JSON.parse(readFileSync(tokensFile, 'utf8'));
const missing = callers.filter((caller) => tokens[caller] === undefined);
if (missing.length > 0) {
  for (const caller of missing) tokens[caller] = token();
  writeFileSync(tokensFile, `${JSON.stringify(tokens)}\n`, { mode: 0o600 });
  console.log(`added to internal-tokens.json: ${missing.join(', ')}`);
}
