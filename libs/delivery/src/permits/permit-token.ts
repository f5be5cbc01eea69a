import { CompactSign, compactVerify, createLocalJWKSet, type JSONWebKeySet, type JWK } from 'jose';
import { z } from 'zod';
import type { Permit, Repair } from './permit.js';

const algorithm = 'EdDSA';
/** Type of the token: one that was signed for something else by the same key is no permit. */
const type = 'replay-permit';

const short = z.string().min(1).max(512);
const compared = z.strictObject({ version: short.optional(), changed_at: short.optional() });
const repaired = z.array(z.strictObject({ key: z.string().min(1).max(640), ref: short.optional(), compared: compared.optional() })).max(16);
const repair = z.strictObject({ generation: z.number().int().positive(), renew: repaired, adopt: repaired, forget: repaired.optional() });

const epochMs = z.number().int().nonnegative();
const claims = z.strictObject({
  v: z.literal(1),
  batch: z.uuid(),
  item: z.uuid(),
  event_id: z.uuid(),
  destination: z.string().min(1).max(512),
  operation_keys: z.array(z.string().min(1).max(640)).min(1).max(16),
  not_after: epochMs,
  deadline_at: epochMs,
  mapping_version: z.number().int().positive().optional(),
  repair: repair.optional(),
});

/** The permit as a compact JWS, signed with an Ed25519 private key (JWK with `kid`). */
export async function signPermit(permit: Permit, privateKey: JWK): Promise<string> {
  const payload: z.infer<typeof claims> = {
    v: 1,
    batch: permit.batchId,
    item: permit.itemId,
    event_id: permit.eventId,
    destination: permit.destination,
    operation_keys: [...permit.operationKeys],
    not_after: permit.notAfter.getTime(),
    deadline_at: permit.deadlineAt.getTime(),
    mapping_version: permit.mappingVersion,
    repair: permit.repair && repairClaims(permit.repair),
  };
  return new CompactSign(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader({ alg: algorithm, typ: type, kid: privateKey.kid })
    .sign(privateKey);
}

function repairClaims({ generation, renew, adopt, forget = [] }: Repair): z.infer<typeof repair> {
  const named = (list: Repair['renew']) => list.map(({ operationKey: key, ref, compared: as }) => ({ key, ref, compared: as }));
  return { generation, renew: named(renew), adopt: named(adopt), ...(forget.length > 0 && { forget: named(forget) }) };
}

/**
 * Reads permits signed by any of the keys: during a change of keys the old and the new one both stand there. Gives undefined for a token
 * that no key fits, of another type, or of another form. Says nothing about time: whoever knows the time compares `notAfter`.
 */
export function permitReader(publicKeys: JSONWebKeySet): (token: string) => Promise<Permit | undefined> {
  const keys = createLocalJWKSet(publicKeys);
  return async (token) => {
    const verified = await compactVerify(token, keys, { algorithms: [algorithm] }).catch(() => undefined);
    if (verified?.protectedHeader.typ !== type) return undefined;
    const parsed = claims.safeParse(parseJson(verified.payload));
    return parsed.success ? toPermit(parsed.data) : undefined;
  };
}

function toPermit(read: z.infer<typeof claims>): Permit {
  return {
    batchId: read.batch,
    itemId: read.item,
    eventId: read.event_id,
    destination: read.destination,
    operationKeys: read.operation_keys,
    notAfter: new Date(read.not_after),
    deadlineAt: new Date(read.deadline_at),
    mappingVersion: read.mapping_version,
    ...(read.repair && { repair: toRepair(read.repair) }),
  };
}

function toRepair({ generation, renew, adopt, forget }: z.infer<typeof repair>): Repair {
  const named = (list: z.infer<typeof repaired>) =>
    list.map(({ key, ref, compared: as }) => ({ operationKey: key, ...(ref !== undefined && { ref }), ...(as && { compared: as }) }));
  return { generation, renew: named(renew), adopt: named(adopt), ...(forget && { forget: named(forget) }) };
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}
