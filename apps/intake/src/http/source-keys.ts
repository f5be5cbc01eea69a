import { hash as digest, timingSafeEqual } from 'node:crypto';
import type { SourceConfig } from '#runtime';

/** Tells whose key a request carries. Only hashes are kept. */
export class SourceKeys {
  private readonly keys: { hash: Buffer; source: SourceConfig }[];

  constructor(sources: readonly SourceConfig[]) {
    this.keys = sources.flatMap((source) =>
      source.keyHashes.map((keyHash) => ({ hash: Buffer.from(keyHash.replace(/^sha256:/, ''), 'hex'), source })),
    );
  }

  /** The source of `Authorization: Bearer <key>`, or undefined. Every stored hash is compared, so that the time taken says nothing. */
  sourceOf(authorization: string | undefined): SourceConfig | undefined {
    const key = authorization && /^Bearer +([^\s]+)$/i.exec(authorization)?.[1];
    if (!key) return undefined;
    const hash = digest('sha256', key, 'buffer');
    let found: SourceConfig | undefined;
    for (const stored of this.keys) {
      if (stored.hash.length === hash.length && timingSafeEqual(stored.hash, hash)) found = stored.source;
    }
    return found;
  }
}
