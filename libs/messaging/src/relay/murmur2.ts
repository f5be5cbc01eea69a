const seed = 0x9747b28c;
const mix = 0x5bd1e995;

/** The Java client's hash of a key, as signed 32 bits. kafkajs computes the same far more slowly, which the relay would pay per row. */
export function murmur2(key: Buffer): number {
  const whole = key.length & ~3;
  let hash = seed ^ key.length;
  for (let at = 0; at < whole; at += 4) {
    let word = Math.imul(key.readInt32LE(at), mix);
    word ^= word >>> 24;
    hash = Math.imul(hash, mix) ^ Math.imul(word, mix);
  }
  if (key.length > whole) hash = Math.imul(hash ^ tail(key, whole), mix);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, mix);
  return hash ^ (hash >>> 15);
}

/** The one to three bytes after the last whole word. */
function tail(key: Buffer, from: number): number {
  return (key[from] ?? 0) | ((key[from + 1] ?? 0) << 8) | ((key[from + 2] ?? 0) << 16);
}

/** Partition that Java, librdkafka (murmur2_random) and kafkajs' default partitioner choose for the key. */
export function partitionOf(key: Buffer, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}
