import type {
  Checkup,
  Claim,
  ClaimRequest,
  DurationMs,
  LeaseAnswer,
  LeaseStore,
  MarkVerdict,
  ReleaseOptions,
  ReleaseVerdict,
  RenewVerdict,
  Result,
  SetAsideOptions,
  SetAsideVerdict,
  StoreAdmin,
} from '../../src/spi.ts'
import type { Database } from './database.ts'
import { answered, type SqlErrors } from './errors.ts'
import { inParts } from './parts.ts'

/** The calls of a lease store in the SQL of one database. All claims of a call have the scope of the place, and distinct keys. */
export interface LeaseCalls<Place> {
  claim(place: Place, request: ClaimRequest): Promise<readonly LeaseAnswer[]>
  renew(place: Place, claims: readonly Claim[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]>
  mark(place: Place, claims: readonly Marking[]): Promise<readonly MarkVerdict[]>
  release(place: Place, claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]>
  setAside(
    place: Place,
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]>
}

export type Marking = Claim & { readonly result: Result | undefined }

interface Parts<Place> {
  readonly errors: SqlErrors
  readonly database: Pick<Database<Place, unknown>, 'open' | 'placeOf'>
  readonly calls: LeaseCalls<Place>
  readonly checkup: Checkup
  readonly admin: StoreAdmin
}

/**
 * Leases in one table. Each call is a short transaction or two, and nothing is bound to a connection between calls. A
 * call that is sent again finds its earlier writes by owner token.
 */
export class SqlLease<Place> implements LeaseStore {
  readonly strategy = 'lease'
  readonly admin: StoreAdmin
  readonly checkup: Checkup
  readonly #parts: Parts<Place>

  constructor(parts: Parts<Place>) {
    this.#parts = parts
    this.checkup = () => answered(parts.errors, 'checkup', parts.checkup)
    this.admin = parts.admin
  }

  async open(): Promise<void> {
    await this.#parts.database.open()
  }

  claim(request: ClaimRequest): Promise<readonly LeaseAnswer[]> {
    const { errors, database, calls } = this.#parts
    return answered(errors, 'claim', async () => {
      const place = await database.placeOf(request.scope)
      return inParts(request.items, (items) => calls.claim(place, { ...request, items }))
    })
  }

  renew(claims: readonly Claim[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]> {
    return this.#perScope('renew', claims, (place, part) => this.#parts.calls.renew(place, part, leaseMs))
  }

  mark(claims: readonly Claim[], results: readonly (Result | undefined)[] = []): Promise<readonly MarkVerdict[]> {
    const marks = claims.map((claimed, at) => ({ ...claimed, result: results[at] }))
    return this.#perScope('mark', marks, (place, part) => this.#parts.calls.mark(place, part))
  }

  release(claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return this.#perScope('release', claims, (place, part) => this.#parts.calls.release(place, part, how))
  }

  setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    return this.#perScope('set aside', claims, (place, part) => this.#parts.calls.setAside(place, part, as, why))
  }

  /** Nearly always all claims of one call have the same scope. */
  #perScope<C extends Claim, Verdict>(
    what: string,
    claims: readonly C[],
    ask: (place: Place, part: readonly C[]) => Promise<readonly Verdict[]>,
  ): Promise<readonly Verdict[]> {
    return answered(this.#parts.errors, what, () =>
      inParts(claims, async (part) => {
        const [first] = part
        return first === undefined ? [] : ask(await this.#parts.database.placeOf(first.scope), part)
      }),
    )
  }
}
