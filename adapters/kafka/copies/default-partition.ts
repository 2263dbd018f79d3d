const SEED = 0x9747b28c
const FACTOR = 0x5bd1e995

/** The partition that the default partitioners of Kafka and kafkajs 2 choose for a key: murmur2 of its bytes. */
export function defaultPartition(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions
}

function murmur2(bytes: Uint8Array): number {
  const whole = bytes.length - (bytes.length % 4)
  const byteAt = (at: number): number => bytes[at] ?? 0
  let hash = SEED ^ bytes.length
  for (let at = 0; at < whole; at += 4) {
    let word = byteAt(at) | (byteAt(at + 1) << 8) | (byteAt(at + 2) << 16) | (byteAt(at + 3) << 24)
    word = Math.imul(word, FACTOR)
    word ^= word >>> 24
    hash = Math.imul(hash, FACTOR) ^ Math.imul(word, FACTOR)
  }
  if (bytes.length > whole) {
    hash ^= byteAt(whole) | (byteAt(whole + 1) << 8) | (byteAt(whole + 2) << 16)
    hash = Math.imul(hash, FACTOR)
  }
  hash = Math.imul(hash ^ (hash >>> 13), FACTOR)
  return hash ^ (hash >>> 15)
}
