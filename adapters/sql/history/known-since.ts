import type { KnownSince } from '../../../src/spi.ts'
import type { ScopeTimes } from './statements.ts'

export function knownSince({ first_claim_at: first, purged_to: purged }: ScopeTimes): KnownSince | undefined {
  if (first === null) return undefined
  const isPurged = purged !== null && Number(purged) > Number(first)
  return isPurged
    ? { at: Number(purged), because: 'the last purge' }
    : { at: Number(first), because: 'the first claim of this consumer' }
}
