import type { ClaimRequest, LeaseAnswer } from '../../../src/internal.ts'
import { storedNumbered, type StoredItem } from '../../sql/bytes.ts'
import { foundIn } from '../../sql/lease/record.ts'
import { isLockTimeout } from '../sql-errors.ts'
import { claimAbsent, claimKept, type ClaimRow, type LeaseClaim } from './statements/claim.ts'
import { ask, type LeasePlace } from './ask.ts'

/** Rounds in which another claim may be quicker. After that the key answers `busy`. */
const ROUNDS = 5

/**
 * First claims keys without a record, which is nearly all, then keys with one. Nothing is written for a key that is not
 * granted, and nothing is flushed for it: a redelivery of a done message costs two reads.
 */
export async function claimLeases(place: LeasePlace, request: ClaimRequest): Promise<readonly LeaseAnswer[]> {
  const items = request.items.map(storedNumbered)
  const answers = new Map<StoredItem, LeaseAnswer>()
  const open = new Map(items.map((stored) => [stored.key, stored]))
  const settle = (key: string, answer: (stored: StoredItem) => LeaseAnswer): void => {
    const stored = open.get(key)
    if (stored === undefined) return
    open.delete(key)
    answers.set(stored, answer(stored))
  }
  try {
    for (let round = 0; round < ROUNDS && open.size > 0; round++) {
      for (const { key } of await ask(place, claimAbsent, claimOf(place, request, open))) {
        settle(key, (stored) => grant(request, stored, { verdict: 'claimed', fence: 1, attempt: 1 }))
      }
      if (open.size === 0) break
      for (const row of await ask(place, claimKept, claimOf(place, request, open))) {
        if (row.verdict !== 'changed') settle(row.key, (stored) => answerOf(request, stored, row))
      }
    }
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    // The lock timeout does not say which row was held, so every key answers `busy`.
    return items.map((stored) => answers.get(stored) ?? { verdict: 'busy', leaseLeftMs: place.lockTimeoutMs })
  }
  return items.map((stored) => answers.get(stored) ?? { verdict: 'busy', leaseLeftMs: 0 })
}

function claimOf(
  { scope, lockTimeoutMs }: LeasePlace,
  { token, leaseMs, retentionMs, alone }: ClaimRequest,
  open: ReadonlyMap<string, StoredItem>,
): LeaseClaim {
  const fps = [...open.values()].map(({ fp }) => fp ?? '')
  return { scope, lockTimeoutMs, keys: [...open.keys()], fps, owner: token, leaseMs, retentionMs, alone }
}

function answerOf(request: ClaimRequest, stored: StoredItem, row: ClaimRow): LeaseAnswer {
  const { verdict, rest } = row
  switch (verdict) {
    case 'claimed':
    case 'taken-over':
      return grant(request, stored, { verdict, fence: row.fence, attempt: row.attempt })
    case 'busy':
      return { verdict, leaseLeftMs: row.left_ms }
    case 'in-doubt':
    case 'conflict':
      return { verdict }
    case 'done':
      return { verdict, result: rest === '' ? undefined : rest, since: row.since ?? undefined }
    case 'given-up':
    case 'parked':
      return {
        verdict,
        reason: rest,
        attempt: row.attempt,
        since: row.since ?? undefined,
        cause: row.cause ?? undefined,
      }
    case 'unreadable':
      return { verdict, found: foundIn(rest) }
    case 'changed':
      return { verdict: 'busy', leaseLeftMs: 0 }
  }
}

function grant(
  { scope, token, retentionMs }: ClaimRequest,
  { item: { key, digest } }: StoredItem,
  granted: { readonly verdict: 'claimed' | 'taken-over'; readonly fence: number; readonly attempt: number },
): LeaseAnswer {
  const { fence, attempt } = granted
  return { ...granted, claim: { key, digest, scope, token, fence, attempt, retentionMs } }
}
