import { hash } from 'node:crypto';

/** UUID v5 (RFC 9562): the same name in the same namespace (16 bytes) always gives the same id. One hash in one go, as every lead has one. */
export function nameUuid(namespace: Buffer, name: string): string {
  const digest = hash('sha1', Buffer.concat([namespace, Buffer.from(name)]), 'buffer');
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
