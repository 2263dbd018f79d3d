import type {
  Claim,
  DurationMs,
  ReleaseOptions,
  ReleaseVerdict,
  RenewVerdict,
  SetAsideOptions,
  SetAsideVerdict,
} from '../../../src/internal.ts'
import { hexOfNumbered } from '../../sql/bytes.ts'
import { storable } from '../../sql/errors.ts'
import { isUnstorable } from '../sql-errors.ts'
import type { LeaseKeys } from './statements/parts.ts'
import { releaseLeases, renewLeases, setLeasesAside } from './statements/endings.ts'
import { ask, type LeasePlace } from './lease-place.ts'

export async function renew(
  place: LeasePlace,
  claims: readonly Claim[],
  leaseMs: DurationMs,
): Promise<readonly RenewVerdict[]> {
  const asked = ownedBy(place, claims)
  const renewed = new Set((await ask(place, renewLeases, { ...asked, leaseMs })).map(({ key }) => key))
  return asked.keys.map((key) => (renewed.has(key) ? 'renewed' : 'lost'))
}

export async function release(
  place: LeasePlace,
  claims: readonly Claim[],
  how: ReleaseOptions,
): Promise<readonly ReleaseVerdict[]> {
  const { refund, doubt, delayMs = 0, cause } = how
  const asked = { ...ownedBy(place, claims), refund, doubt, delayMs, cause }
  try {
    return inOrder(asked, await ask(place, releaseLeases, asked))
  } catch (error) {
    if (!isUnstorable(error)) throw error
    return inOrder(asked, await ask(place, releaseLeases, { ...asked, cause: cause && storable(cause) }))
  }
}

export async function setAside(
  place: LeasePlace,
  claims: readonly Claim[],
  as: 'given-up' | 'parked',
  { reason, refund = false, cause }: SetAsideOptions,
): Promise<readonly SetAsideVerdict[]> {
  const asked = { ...ownedBy(place, claims), as, reason, refund, cause }
  try {
    return inOrder(asked, await ask(place, setLeasesAside, asked))
  } catch (error) {
    if (!isUnstorable(error)) throw error
    const told = { reason: storable(reason), cause: cause && storable(cause) }
    return inOrder(asked, await ask(place, setLeasesAside, { ...asked, ...told }))
  }
}

function ownedBy(
  { scope, lockTimeoutMs }: LeasePlace,
  claims: readonly Claim[],
): LeaseKeys & { readonly owners: readonly string[] } {
  return {
    scope,
    lockTimeoutMs,
    keys: claims.map(({ key }) => hexOfNumbered(key)),
    owners: claims.map(({ token }) => token),
  }
}

/** A key without a record has no owner: `refused`. */
function inOrder<Verdict extends string>(
  { keys }: LeaseKeys,
  rows: readonly { readonly key: string; readonly verdict: Verdict }[],
): readonly (Verdict | 'refused')[] {
  const verdicts = new Map(rows.map(({ key, verdict }) => [key, verdict]))
  return keys.map((key) => verdicts.get(key) ?? 'refused')
}
