import type { DecideVerdict, Key, RecordView } from '../core/record.ts'
import { verdictOn } from '../core/sequence.ts'
import type { StoreAdmin, Why } from '../ports/store-admin.ts'
import { readSequenceKey } from '../identity/sequence-key.ts'
import type { Sources } from './sources.ts'

/** Shows and decides messages that only the record of their source knows, beside those that have one of their own. */
export function sequenceAdmin(records: StoreAdmin, sources: Sources): StoreAdmin {
  /** The keys among these views that are done and have no record any more. */
  const removedIn = async (
    scope: string,
    keys: readonly Key[],
    views: readonly RecordView[],
  ): Promise<ReadonlySet<Key>> => {
    const absent = keys.filter((_, at) => views[at]?.state === 'absent' && views[at].scope !== 'another')
    const done = await areDone(sources, scope, absent)
    return new Set(absent.filter((_, at) => done[at] === true))
  }

  const isRemoved = async (scope: string, keys: readonly Key[]): Promise<ReadonlySet<Key>> =>
    removedIn(scope, keys, await records.peek(scope, keys))

  const peek = async (scope: string, keys: readonly Key[]): Promise<readonly RecordView[]> => {
    const views = await records.peek(scope, keys)
    const removed = await removedIn(scope, keys, views)
    const done: RecordView = sources.areShared ? { state: 'done', scope: 'unknown' } : { state: 'done' }
    return views.map((view, at) => (removed.has(keys[at] ?? '') ? done : view))
  }

  const importNew = async (scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> => {
    // A message that has a record is decided by that: its number may be done, and a person has let it run again.
    const removed = await isRemoved(scope, keys)
    const made = keys.filter((key) => !removed.has(key))
    const verdicts = made.length === 0 ? [] : ((await records.import?.(scope, made, why)) ?? [])
    const decided = new Map(made.map((key, at) => [key, verdicts[at] ?? 'refused']))
    await sources.add(
      scope,
      [...decided].flatMap(([key, verdict]) => {
        const place = readSequenceKey(key)
        return verdict === 'refused' || place === undefined ? [] : [{ ...place, keepMs: why.retentionMs }]
      }),
    )
    return keys.map((key) => decided.get(key) ?? 'already')
  }

  return {
    forgetsByItself: records.forgetsByItself ?? false,
    peek,
    list: async (scope, query) => {
      const page = await records.list(scope, query)
      // A store may keep its sources among its records.
      return { ...page, records: page.records.filter(({ key }) => readSequenceKey(key) !== undefined) }
    },
    resolve: (scope, keys, how) => records.resolve(scope, keys, how),
    reopen: (scope, keys, why) => records.reopen(scope, keys, why),
    purge: (scope, how) => records.purge(scope, how),
    /** What has no record any more gets one again, so that the decision has something to change, and is in the audit. */
    forget: async (scope, keys, why) => {
      const known = [...(await isRemoved(scope, keys))]
      if (known.length > 0) await records.import?.(scope, known, why)
      return records.forget(scope, keys, why)
    },
    ...(records.import && { import: importNew }),
    ...(records.knownSince && { knownSince: (scope) => records.knownSince?.(scope) ?? Promise.resolve(undefined) }),
    ...(records.audit && {
      audit: async (scope, query) => (await records.audit?.(scope, query)) ?? { entries: [], next: undefined },
    }),
    ...(records.note && { note: async (scope, note) => records.note?.(scope, note) }),
    ...(records.replays && { replays: records.replays }),
  }
}

async function areDone(sources: Sources, scope: string, keys: readonly Key[]): Promise<readonly boolean[]> {
  const places = keys.map((key) => readSequenceKey(key))
  const found = await sources.read(
    scope,
    places.flatMap((place) => (place === undefined ? [] : [place.source])),
  )
  return places.map((place) => {
    const source = place && found.get(place.source)
    return place !== undefined && source !== undefined && verdictOn(source, place.number) === 'done'
  })
}
