import type { Claim, ClaimVerdict, Command, Digest, LeaseAnswer } from '../../../src/internal.ts'
import { hexOf, keyOf, storedDigest } from '../../sql/bytes.ts'
import type { LeaseCalls } from '../../sql/lease-store.ts'
import type { MysqlPlace } from '../database.ts'
import { isLockTimeout } from '../sql-errors.ts'
import { moveRecords } from '../../sql/lease/move.ts'

/** Each call is a short transaction of two messages. */
export const LEASE_CALLS: LeaseCalls<MysqlPlace> = {
  async claim(place, { items, scope, token, leaseMs, retentionMs, alone }) {
    const how = { command: 'claim', token, leaseMs, retentionMs, alone } as const
    const moves = items.map(({ key, digest }) => ({ key: hexOf(key), command: { ...how, digest: spelled(digest) } }))
    try {
      const moved = await moveRecords(place, moves)
      return items.map(({ key, digest }, at): LeaseAnswer => {
        const verdict = moved[at]?.verdict as ClaimVerdict
        if (!('fence' in verdict)) return verdict
        const { fence, attempt } = verdict
        return { ...verdict, claim: { key, digest, scope, token, fence, attempt, retentionMs } }
      })
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      // The lock timeout does not say which row was held, so every key answers `busy`.
      return items.map(() => ({ verdict: 'busy', leaseLeftMs: place.lockTimeoutMs }))
    }
  },
  renew: (place, claims, leaseMs) => move(place, claims, ({ token }) => ({ command: 'renew', token, leaseMs })),
  mark: (place, claims) =>
    move(place, claims, ({ token, digest, fence, retentionMs, result }) => {
      return { command: 'mark', token, digest: spelled(digest), fence, retentionMs, result }
    }),
  release: (place, claims, how) => move(place, claims, ({ token }) => ({ ...how, command: 'release', token })),
  setAside: (place, claims, as, why) =>
    move(place, claims, ({ token }) => ({ ...why, command: 'set-aside', token, as })),
}

async function move<Item extends Claim, Verdict>(
  place: MysqlPlace,
  claims: readonly Item[],
  commandOf: (claimed: Item) => Command,
): Promise<readonly Verdict[]> {
  const moves = claims.map((claimed) => ({ key: hexOf(claimed.key), command: commandOf(claimed) }))
  return (await moveRecords(place, moves)).map(({ verdict }) => verdict as Verdict)
}

/** As it will be read back: the last of the 22 characters has bits that are not stored. */
function spelled(digest: Digest): Digest {
  const stored = storedDigest(digest)
  return stored === null ? '' : keyOf(stored)
}
