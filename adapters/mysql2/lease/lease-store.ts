import type {
  Checkup,
  Claim,
  ClaimItem,
  ClaimRequest,
  ClaimVerdict,
  Command,
  Digest,
  DurationMs,
  LeaseAnswer,
  LeaseStore as LeasePort,
  MarkVerdict,
  ReleaseOptions,
  ReleaseVerdict,
  RenewVerdict,
  Result,
  SetAsideOptions,
  SetAsideVerdict,
  StoreAdmin,
} from '../../../src/spi.ts'
import { hexOf, keyOf, storedDigest } from '../../sql/bytes.ts'
import type { Database } from '../../sql/database.ts'
import { answered } from '../../sql/errors.ts'
import type { MysqlPlace } from '../database.ts'
import { ERRORS, isLockTimeout } from '../sql-errors.ts'
import { LeaseAdmin } from './lease-admin.ts'
import { moveRecords } from './move.ts'
import { inParts } from '../../sql/parts.ts'

/**
 * Leases in one table. Each call is a short transaction of two messages; nothing is bound to a connection between
 * calls.
 */
export class LeaseStore implements LeasePort {
  readonly strategy = 'lease'
  readonly admin: StoreAdmin
  readonly checkup: Checkup
  readonly #database: Pick<Database<MysqlPlace, unknown>, 'open' | 'placeOf'>

  constructor(database: Pick<Database<MysqlPlace, unknown>, 'open' | 'placeOf'>, checkup: Checkup) {
    this.#database = database
    this.admin = new LeaseAdmin(database)
    this.checkup = () => answered(ERRORS, 'checkup', checkup)
  }

  async open(): Promise<void> {
    await this.#database.open()
  }

  claim(request: ClaimRequest): Promise<readonly LeaseAnswer[]> {
    return answered(ERRORS, 'claim', async () => {
      const place = await this.#database.placeOf(request.scope)
      return inParts(request.items, (items) => this.#claim(place, request, items))
    })
  }

  renew(claims: readonly Claim[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]> {
    return this.#move('renew', claims, ({ token }) => ({ command: 'renew', token, leaseMs }))
  }

  mark(claims: readonly Claim[], results: readonly (Result | undefined)[] = []): Promise<readonly MarkVerdict[]> {
    const marks = claims.map((claimed, at) => ({ ...claimed, result: results[at] }))
    return this.#move('mark', marks, ({ token, digest, fence, retentionMs, result }) => {
      return { command: 'mark', token, digest: spelled(digest), fence, retentionMs, result }
    })
  }

  release(claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return this.#move('release', claims, ({ token }) => ({ ...how, command: 'release', token }))
  }

  setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    return this.#move('set aside', claims, ({ token }) => ({ ...why, command: 'set-aside', token, as }))
  }

  async #claim(
    place: MysqlPlace,
    { scope, token, leaseMs, retentionMs, alone }: ClaimRequest,
    items: readonly ClaimItem[],
  ): Promise<readonly LeaseAnswer[]> {
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
  }

  #move<Item extends Claim, Verdict>(
    what: string,
    claims: readonly Item[],
    commandOf: (claimed: Item) => Command,
  ): Promise<readonly Verdict[]> {
    return answered(ERRORS, what, () =>
      inParts(claims, async (part) => {
        const [first] = part
        if (first === undefined) return []
        const place = await this.#database.placeOf(first.scope)
        const moves = part.map((claimed) => ({ key: hexOf(claimed.key), command: commandOf(claimed) }))
        return (await moveRecords(place, moves)).map(({ verdict }) => verdict as Verdict)
      }),
    )
  }
}

/** As it will be read back: the last of the 22 characters has bits that are not stored. */
function spelled(digest: Digest): Digest {
  const stored = storedDigest(digest)
  return stored === null ? '' : keyOf(stored)
}
