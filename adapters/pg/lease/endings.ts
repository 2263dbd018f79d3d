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
import { despiteEncoding } from '../../sql/errors.ts'
import { ERRORS } from '../sql-errors.ts'
import type { LeaseKeys } from './statements/parts.ts'
import { releaseLeases, renewLeases, setLeasesAside } from './statements/endings.ts'
import { ask, type LeasePlace } from './ask.ts'

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
  const asked = { ...ownedBy(place, claims), refund, doubt, delayMs }
  const rows = await despiteEncoding(ERRORS, { cause }, (texts) => ask(place, releaseLeases, { ...asked, ...texts }))
  return inOrder(asked, rows)
}

export async function setAside(
  place: LeasePlace,
  claims: readonly Claim[],
  as: 'given-up' | 'parked',
  { reason, refund = false, cause }: SetAsideOptions,
): Promise<readonly SetAsideVerdict[]> {
  const asked = { ...ownedBy(place, claims), as, refund }
  const rows = await despiteEncoding(ERRORS, { reason, cause }, (texts) =>
    ask(place, setLeasesAside, { ...asked, ...texts }),
  )
  return inOrder(asked, rows)
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
