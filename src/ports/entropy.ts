import type { OwnerToken } from '../core/record.ts'

/** Where chance comes from. A simulation replaces it by a seeded source. */
export interface Entropy {
  /** 0 <= fraction < 1. For jitter only. */
  fraction(): number
  /** 12 characters of base64url from a cryptographic source, never the same twice. */
  ownerToken(): OwnerToken
}
