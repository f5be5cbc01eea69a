import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { CompactSign, compactVerify, createLocalJWKSet, type JSONWebKeySet, type JWK } from 'jose';
import { z } from 'zod';

const algorithm = 'EdDSA';
/** What was signed by the same key for something else is no head. */
const type = 'audit-head';

const claims = z.strictObject({
  v: z.literal(1),
  seq: z.number().int().positive(),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  sealed_at: z.iso.datetime(),
});

/** The end of the chain at one moment. */
export interface AuditHead {
  seq: number;
  hash: Buffer;
  sealedAt: Date;
}

/** The head as a compact JWS. */
export async function signHead({ seq, hash, sealedAt }: AuditHead, privateKey: JWK): Promise<string> {
  const payload: z.infer<typeof claims> = { v: 1, seq, hash: hash.toString('hex'), sealed_at: sealedAt.toISOString() };
  return new CompactSign(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader({ alg: algorithm, typ: type, kid: privateKey.kid })
    .sign(privateKey);
}

/** Reads heads that one of the keys has signed; undefined for anything else. */
export function headReader(publicKeys: JSONWebKeySet): (jws: string) => Promise<AuditHead | undefined> {
  const keys = createLocalJWKSet(publicKeys);
  return async (jws) => {
    const verified = await compactVerify(jws.trim(), keys, { algorithms: [algorithm] }).catch(() => undefined);
    if (verified?.protectedHeader.typ !== type) return undefined;
    const { seq, hash, sealed_at } = claims.parse(JSON.parse(Buffer.from(verified.payload).toString('utf8')));
    return { seq, hash: Buffer.from(hash, 'hex'), sealedAt: new Date(sealed_at) };
  };
}

/** The exported text; undefined where there is none yet. Throws what the file system throws otherwise. */
export function readHeadFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces the exported head in one step: whoever reads it sees the one or the other. */
export function writeHeadFile(file: string, jws: string): void {
  const partial = `${file}.${process.pid}.partial`;
  writeFileSync(partial, `${jws}\n`, { mode: 0o600 });
  renameSync(partial, file);
}
