import { createSecretKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { ConfigError } from '../config/config-error.js';
import { decodeKey, parseSecretJson } from '../config/secrets.js';

/** One id names one key for ever, since what is sealed stores the id. */
const keyId = /^[A-Za-z0-9._-]{1,64}$/;
const fileForm = z.strictObject({ current: z.string().regex(keyId), keys: z.record(z.string().regex(keyId), z.string()) });

/**
 * Key-encryption keys by id. New data keys are wrapped by the current one; the others stay only to read. Rotate by adding a key and making
 * it current (long before 2^32 leads, the limit of random nonces under one key), rewrap, then remove the old one.
 */
export class KeyRing {
  private constructor(
    readonly current: string,
    private readonly keys: ReadonlyMap<string, KeyObject>,
  ) {}

  /** Reads `{"current": id, "keys": {id: base64 of 32 bytes}}`. Throws ConfigError without showing any of it. */
  static fromFile(file: string): KeyRing {
    const { current, keys } = parseSecretJson(file, fileForm, '{"current":"k1","keys":{"k1":"<32 bytes as base64>"}}');
    const decoded = new Map<string, KeyObject>();
    for (const [id, text] of Object.entries(keys)) {
      const key = decodeKey(text);
      if (key === undefined) throw wrong(file, `holds a key of the wrong size (${id})`, 'Use 32 random bytes as base64');
      decoded.set(id, createSecretKey(key));
    }
    if (!decoded.has(current)) throw wrong(file, 'names a current key that is not among its keys', 'Add that key, or name another');
    return new KeyRing(current, decoded);
  }

  key(id: string): KeyObject | undefined {
    return this.keys.get(id);
  }
}

function wrong(path: string, problem: string, fix: string): ConfigError {
  return new ConfigError([{ path, problem, fix }]);
}
