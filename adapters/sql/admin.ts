import {
  StoreError,
  type DecideVerdict,
  type Decision,
  type Key,
  type Purged,
  type Purging,
  type RecordPage,
  type RecordView,
  type StoreAdmin,
  type Why,
} from '../../src/internal.ts'
import { hexOf } from './bytes.ts'
import type { Database } from './database.ts'
import { despiteConflicts } from './despite-conflicts.ts'
import { answered, despiteEncoding, type SqlErrors } from './errors.ts'
import type { ListedFrom } from './in-steps.ts'
import { auditPage } from './history/audit.ts'
import { knownSince } from './history/known-since.ts'
import { replayLedger, type AskHistory } from './history/replays.ts'
import type { HistoryPlace } from './history/statements.ts'

/** Operations for people on the records of one scope. Keys are in hex; `keys` are distinct and not empty. */
export interface AdminCalls<Place> {
  peek(place: Place, keys: readonly string[]): Promise<ReadonlyMap<string, RecordView>>
  list(place: Place, query: ListedFrom): Promise<RecordPage>
  /** `undefined`: refused. */
  decide(
    place: Place,
    keys: readonly string[],
    decision: Decision,
    why: Why,
  ): Promise<ReadonlyMap<string, DecideVerdict>>
  purge(place: Place, how: Purging): Promise<Purged>
}

export function adminOf<Place extends HistoryPlace>(
  errors: SqlErrors,
  database: Pick<Database<Place, unknown>, 'placeOf' | 'placeOfUse'>,
  calls: AdminCalls<Place>,
  toHex: (key: Key) => string = hexOf,
): StoreAdmin {
  const placeOf = (scope: string): Promise<Place> => database.placeOf(scope)
  const decide =
    (what: string) =>
    (scope: string, keys: readonly Key[], decision: Decision, why: Why): Promise<readonly DecideVerdict[]> =>
      answered(errors, what, async () => {
        if (keys.length === 0) return []
        const wanted = keys.map(toHex)
        const place = await (decision === 'import' ? database.placeOfUse(scope, why.retentionMs) : placeOf(scope))
        const { by, reason } = why
        const verdicts = await despiteEncoding(errors, { by, reason }, (texts) =>
          calls.decide(place, [...new Set(wanted)].toSorted(), decision, { ...why, ...texts }),
        )
        return wanted.map((key) => verdicts.get(key) ?? 'refused')
      })
  const [resolve, reopen, forget, bring] = [decide('resolve'), decide('reopen'), decide('forget'), decide('import')]
  const ask: AskHistory = (what, scope, script) =>
    answered(errors, what, async () => {
      const { sessions, history } = await placeOf(scope)
      return despiteConflicts(() => sessions.committed(script(history)), errors.mayPassAgain)
    })
  return {
    peek: (scope, keys) =>
      answered(errors, 'peek', async () => {
        if (keys.length === 0) return []
        const wanted = keys.map(toHex)
        const views = await calls.peek(await placeOf(scope), [...new Set(wanted)])
        return wanted.map((key) => views.get(key) ?? { state: 'absent' })
      }),
    list: (scope, { state, limit, lookAtMost = Number.MAX_SAFE_INTEGER, after }) =>
      answered(errors, 'list', async () => {
        const from = after === undefined ? '' : toHex(after)
        return calls.list(await placeOf(scope), { state, limit, lookAtMost, after: from })
      }),
    resolve: (scope, keys, { as, ...why }) => resolve(scope, keys, as, why),
    reopen: (scope, keys, why) => reopen(scope, keys, 'reopen', why),
    forget: (scope, keys, why) => forget(scope, keys, 'forget', why),
    import: (scope, keys, why) => bring(scope, keys, 'import', why),
    purge: (scope, how) => answered(errors, 'purge', async () => calls.purge(await placeOf(scope), how)),
    async knownSince(scope) {
      const [times] = await ask('known since', scope, (history) => history.readTimes())
      return times && knownSince(times)
    },
    async audit(scope, { key, limit, after, ...which }) {
      const hex = key === undefined ? undefined : toHex(key)
      const page = { ...which, key: hex, after: checkedCursor(after), limit: limit + 1 }
      return auditPage(await ask('audit', scope, (history) => history.readAudit(page)), limit)
    },
    async note(scope, note) {
      await ask('note', scope, (history) => history.writeNote(note))
    },
    replays: replayLedger(ask),
  }
}

function checkedCursor(after: string | undefined): string | undefined {
  if (after === undefined || /^\d{1,18}$/.test(after)) return after
  throw new StoreError('STORE_MISUSED', `after: expected \`next\` of the page before, got '${after}'`)
}
