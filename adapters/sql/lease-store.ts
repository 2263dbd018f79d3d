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
} from '../../src/internal.ts'
import type { Database } from './database.ts'
import type { HistoryPlace } from './history/statements.ts'
import { answered, type SqlErrors } from './errors.ts'
import { inParts } from './in-parts.ts'

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

interface Parts<Place extends HistoryPlace> {
  /** The value of the label `store` in metrics. */
  readonly name: string
  readonly errors: SqlErrors
  readonly database: Pick<Database<Place, unknown>, 'open' | 'placeOf' | 'placeOfUse'>
  readonly calls: LeaseCalls<Place>
  readonly checkup: Checkup
  readonly admin: StoreAdmin
}

/**
 * Leases in one table. Each call is a short transaction or two, and nothing is bound to a connection between calls. A
 * call that is sent again finds its earlier writes by owner token.
 */
export function sqlLease<Place extends HistoryPlace>({
  name,
  errors,
  database,
  calls,
  checkup,
  admin,
}: Parts<Place>): LeaseStore {
  /** Nearly always all claims of one call have the same scope. */
  const perScope = <C extends Claim, Verdict>(
    what: string,
    claims: readonly C[],
    ask: (place: Place, part: readonly C[]) => Promise<readonly Verdict[]>,
  ): Promise<readonly Verdict[]> =>
    answered(errors, what, () =>
      inParts(claims, async (part) => {
        const [first] = part
        return first === undefined ? [] : ask(await database.placeOf(first.scope), part)
      }),
    )
  return {
    strategy: 'lease',
    name,
    admin,
    checkup: () => answered(errors, 'checkup', checkup),
    open: async () => void (await database.open()),
    claim: (request) =>
      answered(errors, 'claim', async () => {
        const place = await database.placeOfUse(request.scope, request.retentionMs)
        return inParts(request.items, (items) => calls.claim(place, { ...request, items }))
      }),
    renew: (claims, leaseMs) => perScope('renew', claims, (place, part) => calls.renew(place, part, leaseMs)),
    mark: (claims, results = []) => {
      const marks = claims.map((claimed, at) => ({ ...claimed, result: results[at] }))
      return perScope('mark', marks, (place, part) => calls.mark(place, part))
    },
    release: (claims, how) => perScope('release', claims, (place, part) => calls.release(place, part, how)),
    setAside: (claims, as, why) => perScope('set aside', claims, (place, part) => calls.setAside(place, part, as, why)),
  }
}
