import { randomInt } from 'node:crypto'
import type { Delivery } from '../../../src/internal.ts'
import type { Order } from '../options/options.ts'

/** Keys up to this length become numbers. */
const SHORT_BYTES = 64

/** Odd, so that no byte is lost in a product. */
const [FACTOR, OTHER_FACTOR] = [0x01_00_01_93, 0x85_eb_ca_6b]

/** Nobody who picks keys knows which of them would share a lane. */
const [SEED, OTHER_SEED] = [randomInt(2 ** 32), randomInt(2 ** 32)]

/** A lane is made of two hashes of so many bits. Together they fit a safe integer. */
const BITS = 26

/**
 * The lanes of the messages of one partition. That of a short key is a number of 52 bits, and not its text, which would
 * have to be made, joined with the partition, and hashed for each message. Two of 10,000 keys that are under way share a
 * lane once in 90 million: then one waits for the other.
 */
export class PartitionLanes {
  readonly #name: string
  readonly #start: number
  readonly #otherStart: number

  constructor(name: string) {
    this.#name = name
    this.#start = hashedName(SEED, FACTOR, name)
    this.#otherStart = hashedName(OTHER_SEED, OTHER_FACTOR, name)
  }

  of(key: Buffer | null, order: Order): Delivery['lane'] {
    switch (order) {
      case 'key':
        return key === null ? undefined : this.#ofKey(key)
      case 'partition':
        return this.#name
      case 'none':
        return undefined
    }
  }

  #ofKey(key: Buffer): string | number {
    // latin1 keeps different bytes different.
    if (key.length > SHORT_BYTES) return `${this.#name}/${key.toString('latin1')}`
    const high = hashed(this.#start, FACTOR, key) >>> (32 - BITS)
    const low = hashed(this.#otherStart, OTHER_FACTOR, key) >>> (32 - BITS)
    return high * 2 ** BITS + low
  }
}

function hashed(start: number, factor: number, bytes: Uint8Array): number {
  let hash = start
  for (let at = 0; at < bytes.length; at++) hash = Math.imul(hash ^ (bytes[at] as number), factor)
  return hash
}

/** Kafka has names of ASCII. */
function hashedName(start: number, factor: number, name: string): number {
  let hash = start
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), factor)
  return hash
}
