import { randomBytes, randomInt } from 'node:crypto'
import type { Entropy } from './ports/entropy.ts'

const FRACTIONS = 2 ** 32

export const systemEntropy: Entropy = {
  fraction: () => randomInt(FRACTIONS) / FRACTIONS,
  ownerToken: () => randomBytes(9).toString('base64url'),
}
