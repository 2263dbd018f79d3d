import { randomFillSync, randomInt } from 'node:crypto'
import type { Entropy } from '../ports/entropy.ts'

const FRACTIONS = 2 ** 32
const TOKEN_BYTES = 9

/** Random bytes for many tokens at once. One system call for each token would cost more than the rest of a claim. */
const pool = Buffer.alloc(TOKEN_BYTES * 256)
let used = pool.length

export const systemEntropy: Entropy = {
  fraction: () => randomInt(FRACTIONS) / FRACTIONS,
  ownerToken: () => {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += TOKEN_BYTES
    return pool.toString('base64url', used - TOKEN_BYTES, used)
  },
}
