import type { OwnerToken } from '../core/record.ts'

/** The source of randomness. A simulation replaces it with a seeded one. */
export interface Entropy {
  /** 0 <= fraction < 1. For jitter only. */
  fraction(): number
  /** 12 characters of base64url from a cryptographic source. Must never repeat. */
  ownerToken(): OwnerToken
}
