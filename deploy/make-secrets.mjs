// node make-secrets.mjs DIR [UID]: makes the keys and tokens of one installation in DIR, mode 0600, owned by UID if given. What is there is kept:
// a vault key that was replaced could not open what it sealed. Only Node itself is needed, so that it runs before anything is built.
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [dir, uid] = process.argv.slice(2);
if (!dir) throw new Error('usage: node make-secrets.mjs DIR [UID]');

const key = () => randomBytes(32).toString('base64');
const token = () => randomBytes(24).toString('base64url');
const callers = ['intake', 'crm-writer', 'notifier', 'reconciler', 'operator'];

const files = {
  'keyring.json': () => JSON.stringify({ current: 'k1', keys: { k1: key() } }),
  'hmac.key': key,
  'internal-tokens.json': () => JSON.stringify(Object.fromEntries(callers.map((caller) => [caller, token()]))),
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
