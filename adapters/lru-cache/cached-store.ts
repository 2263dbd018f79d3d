import {
  StoreError,
  type Checkup,
  type Claim,
  type ClaimAnswer,
  type ClaimItem,
  type ClaimRequest,
  type DecideVerdict,
  type DurationMs,
  type IdleLimit,
  type Key,
  type MarkVerdict,
  type ReleaseOptions,
  type ReleaseVerdict,
  type RenewVerdict,
  type Result,
  type SetAsideOptions,
  type SetAsideVerdict,
  type Store,
  type StoreAdmin,
  type StoreCalls,
  type Strategy,
} from '../../src/internal.ts'
import type { DoneCache } from './done-cache.ts'
import type { MarkedHere, SharedDone } from './shared-done.ts'

/** A store with a cache of `done` records in front of it. The store answers everything else. */
export class CachedStore<Tx> implements StoreCalls<ClaimAnswer<Tx>> {
  readonly strategy: Strategy
  readonly name: string
  readonly inOrder: boolean
  readonly marksFirst: boolean
  readonly keys: 'ids' | 'sequences'
  readonly admin?: StoreAdmin
  readonly checkup?: Checkup
  readonly idleLimit?: IdleLimit
  readonly onReachable?: (listener: () => void) => () => void
  readonly #store: StoreCalls<ClaimAnswer<Tx>>
  readonly #done: DoneCache
  readonly #shared: SharedDone | undefined

  constructor(store: Store<Tx>, done: DoneCache, shared?: SharedDone) {
    this.strategy = store.strategy
    this.name = store.name ?? store.strategy
    this.keys = store.keys ?? 'ids'
    this.inOrder = store.strategy === 'lease' && store.inOrder === true
    this.marksFirst = store.strategy === 'lease' && store.marksFirst === true
    this.#store = store
    this.#done = done
    this.#shared = shared
    const { admin, idleLimit } = store
    if (idleLimit !== undefined) this.idleLimit = idleLimit
    if (admin !== undefined) this.admin = this.#deciding(admin)
    if (store.onReachable !== undefined) this.onReachable = (listener) => store.onReachable?.(listener) ?? (() => {})
    if (store.checkup !== undefined) this.checkup = async () => (await store.checkup?.()) ?? []
  }

  open(): Promise<void> {
    this.#shared?.subscribe()
    return this.#store.open()
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimAnswer<Tx>[]> {
    const { items } = request
    const known = items.map((item) => this.#done.answer(item))
    const asked = items.filter((_, at) => known[at] === undefined)
    if (asked.length === 0) return known.filter((answer) => answer !== undefined)
    const told = await this.#ask(asked.length === items.length ? request : { ...request, items: asked })
    let next = 0
    return known.flatMap((answer) => answer ?? told[next++] ?? [])
  }

  async mark(claims: readonly Claim[], results?: readonly (Result | undefined)[]): Promise<readonly MarkVerdict[]> {
    const { decisions } = this.#done
    const verdicts = await this.#store.mark(claims, results)
    // The store's own clock tells other processes, and this one once the key has left the cache.
    const since = this.#done.now()
    const marked: MarkedHere[] = []
    for (const [at, { key, digest, retentionMs }] of claims.entries()) {
      const done = { digest, result: results?.[at], since }
      // After `already-marked` and `marked-late` the stored result may be another one. The next claim returns it.
      if (verdicts[at] === 'marked') this.#done.learn(key, done, retentionMs, decisions) // mutant: cache-learns-what-was-refused
      // A kept result may be large, and secret: the others ask the store for it.
      if (verdicts[at] === 'marked' && done.result === undefined) marked.push({ key, digest, retentionMs, since })
    }
    this.#shared?.done(marked)
    return verdicts
  }

  renew(claims: readonly Claim[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]> {
    return this.#store.renew(claims, leaseMs)
  }

  release(claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return this.#store.release(claims, how)
  }

  setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    return this.#store.setAside(claims, as, why)
  }

  async #ask(request: ClaimRequest): Promise<readonly ClaimAnswer<Tx>[]> {
    const { decisions } = this.#done
    const { items, retentionMs } = request
    const answers = await this.#store.claim(request)
    if (answers.length !== items.length) {
      throw new StoreError('STORE_MISUSED', `the store: expected ${items.length} answers, got ${answers.length}`)
    }
    for (const [at, item] of items.entries()) {
      const answer = answers[at]
      if (answer !== undefined) this.#learn(item, answer, retentionMs, decisions)
    }
    return answers
  }

  #learn({ key, digest }: ClaimItem, answer: ClaimAnswer<Tx>, retentionMs: DurationMs, decisions: number): void {
    if (answer.verdict === 'done') {
      const { result, since } = answer
      this.#done.learn(key, { digest, result, since }, retentionMs, decisions)
      // A conflict leaves the record of the other payload as it was.
    } else if (answer.verdict !== 'conflict') this.#done.forget(key)
  }

  /** Both before and after the decision: an answer that arrives in between may be from either side. */
  #deciding(admin: StoreAdmin): StoreAdmin {
    const decide = async (
      keys: readonly Key[],
      decision: () => Promise<readonly DecideVerdict[]>,
    ): Promise<readonly DecideVerdict[]> => {
      this.#done.decide(keys) // mutant: cache-deaf-to-a-person
      try {
        return await decision()
      } finally {
        this.#done.decide(keys) // mutant: cache-deaf-to-a-person 2
        await this.#shared?.forgot(keys)
      }
    }
    return {
      forgetsByItself: admin.forgetsByItself ?? false,
      peek: (scope, keys) => admin.peek(scope, keys),
      list: (scope, query) => admin.list(scope, query),
      resolve: (scope, keys, how) => decide(keys, () => admin.resolve(scope, keys, how)),
      reopen: (scope, keys, why) => decide(keys, () => admin.reopen(scope, keys, why)),
      forget: (scope, keys, why) => decide(keys, () => admin.forget(scope, keys, why)),
      purge: (scope, how) => admin.purge(scope, how),
      ...(admin.knownSince && { knownSince: (scope) => admin.knownSince?.(scope) ?? Promise.resolve(undefined) }),
      ...(admin.import && {
        import: (scope, keys, why) => decide(keys, async () => (await admin.import?.(scope, keys, why)) ?? []),
      }),
      ...(admin.audit && {
        audit: async (scope, query) => (await admin.audit?.(scope, query)) ?? { entries: [], next: undefined },
      }),
      ...(admin.note && { note: async (scope, note) => admin.note?.(scope, note) }),
      ...(admin.replays && { replays: admin.replays }),
    }
  }
}
