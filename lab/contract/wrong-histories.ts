import type { DecideVerdict } from '../../src/core/record.ts'
import type { ReplayLedger, Taking } from '../../src/ports/replay.ts'
import type { KnownSince, StoreAdmin } from '../../src/ports/store-admin.ts'
import { SCOPE } from '../../testing/contract/store/claims.ts'
import { ANOTHER } from '../../testing/contract/store/scope-laws.ts'
import { MapStore } from '../../test/contract/map-store.ts'

/** A lease that keeps its records right, and one thing beside them wrong. */
const wrongReplays = (flaw: (right: ReplayLedger) => Partial<ReplayLedger>): (() => MapStore) =>
  wrongAdmin(({ replays: right }) => {
    if (right === undefined) throw new TypeError('expected a store with admin.replays (wrong-histories)')
    const through: ReplayLedger = {
      take: (scope, id, how) => right.take(scope, id, how),
      save: (scope, id, how) => right.save(scope, id, how),
      leave: (scope, id, owner) => right.leave(scope, id, owner),
      ask: (scope, id, request) => right.ask(scope, id, request),
      read: (scope, id) => right.read(scope, id),
      list: (scope, limit) => right.list(scope, limit),
    }
    return { replays: { ...through, ...flaw(through) } }
  })

const wrongAdmin = (flaw: (right: StoreAdmin) => Partial<StoreAdmin>) => (): MapStore => {
  const store = new MapStore()
  Object.assign(store.admin, flaw({ ...store.admin }))
  return store
}

/** For a store that keeps to no scope: both scopes of the laws. */
const bothOf = (scope: string): readonly [string, string] => [scope, scope === SCOPE ? ANOTHER : SCOPE]

const inBoth = async (
  scope: string,
  decide: (scope: string) => Promise<readonly DecideVerdict[]>,
): Promise<readonly DecideVerdict[]> => {
  const [own, other] = [await decide(bothOf(scope)[0]), await decide(bothOf(scope)[1])]
  return own.map((verdict, at) => (verdict === 'refused' ? (other[at] ?? verdict) : verdict))
}

const cut = (how: Taking): Taking => ({ ...how, state: how.state.slice(0, 65_535) })

export const WRONG_HISTORIES: Readonly<Record<string, () => MapStore>> = {
  'shows nobody a replay': wrongReplays(() => ({ read: async () => undefined })),
  'lets everybody take a replay': wrongReplays((right) => ({
    take: async (scope, id, how) => ({ verdict: 'taken', state: (await right.take(scope, id, how)).state }),
  })),
  'saves for everybody': wrongReplays((right) => ({
    save: async (scope, id, how) => {
      const answer = await right.save(scope, id, how)
      return answer.held ? answer : { held: true, request: undefined }
    },
  })),
  'tells no owner what it was asked': wrongReplays((right) => ({
    save: async (scope, id, how) => {
      const answer = await right.save(scope, id, how)
      return answer.held ? { held: true, request: undefined } : answer
    },
  })),
  'lists the oldest replay first': wrongReplays((right) => ({
    list: async (scope, limit) => (await right.list(scope, 1_000)).toReversed().slice(0, limit),
  })),
  'cuts the state of a replay': wrongReplays((right) => ({
    take: (scope, id, how) => right.take(scope, id, cut(how)),
    save: (scope, id, how) => right.save(scope, id, cut(how)),
  })),
  'never ends the hold of a replay': wrongReplays((right) => ({
    take: (scope, id, how) => right.take(scope, id, { ...how, ttlMs: 10 * how.ttlMs }),
  })),
  'keeps no notes': wrongAdmin(() => ({ note: async () => {} })),
  'keeps notes for every scope': wrongAdmin((right) => ({
    note: async (scope, note) => right.note?.(scope.replace('-of-another', ''), note),
  })),
  'cuts the reason of a note': wrongAdmin((right) => ({
    note: async (scope, note) => right.note?.(scope, { ...note, reason: note.reason.slice(0, 20) }),
  })),
  'shows the records of all scopes': wrongAdmin((right) => ({
    peek: async (scope, keys) => {
      const [own, other] = await Promise.all(bothOf(scope).map((one) => right.peek(one, keys)))
      return (own ?? []).map((view, at) => (view.scope === 'another' ? (other?.[at] ?? view) : view))
    },
    list: async (scope, query) => {
      const [own, other] = await Promise.all(bothOf(scope).map((one) => right.list(one, query)))
      return { records: [...(own?.records ?? []), ...(other?.records ?? [])], looked: 0, next: own?.next }
    },
  })),
  'decides about the records of all scopes': wrongAdmin((right) => ({
    resolve: (scope, keys, how) => inBoth(scope, (one) => right.resolve(one, keys, how)),
    reopen: (scope, keys, why) => inBoth(scope, (one) => right.reopen(one, keys, why)),
    forget: (scope, keys, why) => inBoth(scope, (one) => right.forget(one, keys, why)),
  })),
  'shows the decisions about all scopes': wrongAdmin((right) => ({
    audit: async (scope, query) => {
      const [own, other] = await Promise.all(bothOf(scope).map(async (one) => right.audit?.(one, query)))
      return { entries: [...(own?.entries ?? []), ...(other?.entries ?? [])], next: own?.next }
    },
  })),
  'knows a scope that nobody has claimed': wrongAdmin(() => ({
    knownSince: async () => ({ at: 1, because: 'always' }),
  })),
  'knows nothing of the scope': wrongAdmin(() => ({ knownSince: async () => undefined })),
  'does not know a scope whose messages it has imported': wrongAdmin((right) => ({
    import: async (_scope, keys, why) => (await right.import?.('another', keys, why)) ?? [],
  })),
  'believes after retention was raised that it was never less': wrongAdmin((right) => {
    const first = new Map<string, KnownSince | undefined>()
    return {
      knownSince: async (scope) => {
        const known = first.get(scope) ?? (await right.knownSince?.(scope))
        first.set(scope, known)
        return known
      },
    }
  }),
}
