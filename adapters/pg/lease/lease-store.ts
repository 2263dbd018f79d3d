import type {
  Checkup,
  Claim,
  ClaimRequest,
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
import { answered } from '../../sql/errors.ts'
import { ERRORS } from '../sql-errors.ts'
import { checkup } from '../checkup.ts'
import type { Database } from '../../sql/database.ts'
import { databaseOf, type PgParts } from '../database.ts'
import type { Tables } from '../statements/tables.ts'
import { LeaseAdmin } from './admin.ts'
import { claimLeases } from './claim.ts'
import type { LeasePlace } from './lease-place.ts'
import { mark } from './mark.ts'
import { inParts } from '../../sql/parts.ts'
import { release, renew, setAside } from './endings.ts'

/**
 * Leases in one table. Each call is one statement, plus a second one for keys in an unusual state. Each statement
 * commits by itself, and nothing is bound to a connection. A call that is sent again finds its earlier writes by owner
 * token.
 */
export class LeaseStore implements LeasePort {
  readonly strategy = 'lease'
  readonly admin: StoreAdmin
  readonly checkup: Checkup
  readonly #database: Database<LeasePlace, Tables>

  constructor(parts: PgParts) {
    this.#database = databaseOf(parts, 'lease')
    this.checkup = () => answered(ERRORS, 'checkup', () => checkup(parts, 'lease'))
    this.admin = new LeaseAdmin((scope) => this.#database.placeOf(scope))
  }

  async open(): Promise<void> {
    await this.#database.open()
  }

  claim(request: ClaimRequest): Promise<readonly LeaseAnswer[]> {
    return answered(ERRORS, 'claim', async () => {
      const place = await this.#database.placeOf(request.scope)
      return inParts(request.items, (items) => claimLeases(place, { ...request, items }))
    })
  }

  renew(claims: readonly Claim[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]> {
    return this.#perScope('renew', claims, (place, part) => renew(place, part, leaseMs))
  }

  mark(claims: readonly Claim[], results: readonly (Result | undefined)[] = []): Promise<readonly MarkVerdict[]> {
    const marks = claims.map((claimed, at) => ({ ...claimed, result: results[at] ?? '' }))
    return this.#perScope('mark', marks, mark)
  }

  release(claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return this.#perScope('release', claims, (place, part) => release(place, part, how))
  }

  setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    return this.#perScope('set aside', claims, (place, part) => setAside(place, part, as, why))
  }

  /** Nearly always all claims of one call have the same scope. */
  #perScope<C extends Claim, Verdict>(
    what: string,
    claims: readonly C[],
    ask: (place: LeasePlace, part: readonly C[]) => Promise<readonly Verdict[]>,
  ): Promise<readonly Verdict[]> {
    return answered(ERRORS, what, () =>
      inParts(claims, async (part) => {
        const [first] = part
        return first === undefined ? [] : ask(await this.#database.placeOf(first.scope), part)
      }),
    )
  }
}
