import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import type { Database, Site } from '#runtime';
import type { Area, AreaTools } from '../src/area.js';
import { openAreas } from '../src/areas.js';
import { codec, silent } from './rig.js';

const keyOf = async (key: Parameters<typeof exportJWK>[0]) => ({ ...(await exportJWK(key)), kid: 'k1', alg: 'EdDSA' });

/** Every area of the surface, opened and never started: such areas ask nobody for anything, and their doors can be described. */
export async function unstartedAreas(): Promise<Area[]> {
  const secretsDir = mkdtempSync(join(tmpdir(), 'openapi-'));
  try {
    return await openAreas(await areaTools(secretsDir));
  } finally {
    rmSync(secretsDir, { recursive: true });
  }
}

async function areaTools(secretsDir: string): Promise<AreaTools> {
  const { privateKey, publicKey } = await generateKeyPair('EdDSA', { extractable: true });
  const key = await keyOf(privateKey);
  const publicKeys = { keys: [await keyOf(publicKey)] };
  for (const name of ['audit', 'permit']) {
    writeFileSync(join(secretsDir, `${name}-private.json`), JSON.stringify(key));
    writeFileSync(join(secretsDir, `${name}-public.json`), JSON.stringify(publicKeys));
  }
  const site = { operator: { policies: {} }, destinations: {}, channels: {}, policies: {}, sources: [], routing: [], owners: {} };
  return {
    env: { LD_SECRETS_DIR: secretsDir, AUDIT_SEAL_MS: 1_000, FOLLOW_MS: 1_000 } as AreaTools['env'],
    site: site as unknown as Site,
    db: {} as Database,
    codec,
    owners: new Map(),
    clients: new Map(),
    privateKey: key,
    notifications: { listen: () => () => undefined },
    relayWake: () => undefined,
    logger: silent,
  };
}
