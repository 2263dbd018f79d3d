import type {
  DecideVerdict,
  Decision,
  Key,
  ListQuery,
  Purged,
  Purging,
  RecordPage,
  RecordView,
  StoreAdmin,
  Why,
} from '../../src/spi.ts'
import { hexOf } from './bytes.ts'
import { answered, type SqlErrors } from './errors.ts'

/** Operations for people on the records of one scope. Keys are in hex; `keys` are distinct and not empty. */
export interface AdminCalls<Place> {
  peek(place: Place, keys: readonly string[]): Promise<ReadonlyMap<string, RecordView>>
  list(place: Place, query: Omit<ListQuery, 'after'> & { readonly after: string }): Promise<RecordPage>
  /** `undefined`: refused. */
  decide(
    place: Place,
    keys: readonly string[],
    decision: Decision,
    why: Why,
  ): Promise<ReadonlyMap<string, DecideVerdict>>
  purge(place: Place, how: Purging): Promise<Purged>
}

export function adminOf<Place>(
  errors: SqlErrors,
  placeOf: (scope: string) => Promise<Place>,
  calls: AdminCalls<Place>,
): StoreAdmin {
  const decide =
    (what: string) =>
    (scope: string, keys: readonly Key[], decision: Decision, why: Why): Promise<readonly DecideVerdict[]> =>
      answered(errors, what, async () => {
        if (keys.length === 0) return []
        const wanted = keys.map(hexOf)
        const verdicts = await calls.decide(await placeOf(scope), [...new Set(wanted)].toSorted(), decision, why)
        return wanted.map((key) => verdicts.get(key) ?? 'refused')
      })
  const [resolve, reopen, forget] = [decide('resolve'), decide('reopen'), decide('forget')]
  return {
    peek: (scope, keys) =>
      answered(errors, 'peek', async () => {
        if (keys.length === 0) return []
        const wanted = keys.map(hexOf)
        const views = await calls.peek(await placeOf(scope), [...new Set(wanted)])
        return wanted.map((key) => views.get(key) ?? { state: 'absent' })
      }),
    list: (scope, { after, ...query }) =>
      answered(errors, 'list', async () => {
        const from = after === undefined ? '' : hexOf(after)
        return calls.list(await placeOf(scope), { ...query, after: from })
      }),
    resolve: (scope, keys, { as, ...why }) => resolve(scope, keys, as, why),
    reopen: (scope, keys, why) => reopen(scope, keys, 'reopen', why),
    forget: (scope, keys, why) => forget(scope, keys, 'forget', why),
    purge: (scope, how) => answered(errors, 'purge', async () => calls.purge(await placeOf(scope), how)),
  }
}
