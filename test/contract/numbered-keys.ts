import { createHash } from 'node:crypto'
import type { Key } from '../../src/core/record.ts'
import type { StoreAdmin } from '../../src/ports/store-admin.ts'
import type {
  Claim,
  InboxStore,
  LeaseAnswer,
  LeaseStore,
  OpenTransaction,
  Store,
  StoreCalls,
  TransactionAnswer,
} from '../../src/ports/store.ts'
import { sequenceKey } from '../../src/identity/sequence-key.ts'
import type { InboxHarness, LeaseHarness } from '../../testing/contract/store/harness.ts'

/** The source and number of a key of the laws, and back. */
export class Numbering {
  readonly #numbered = new Map<Key, Key>()
  readonly #plain = new Map<Key, Key>()
  readonly #numberOf: (key: Key, count: number) => readonly [source: string, number: bigint]

  constructor(numberOf: (key: Key, count: number) => readonly [source: string, number: bigint]) {
    this.#numberOf = numberOf
  }

  of(key: Key): Key {
    const known = this.#numbered.get(key)
    if (known !== undefined) return known
    const [source, number] = this.#numberOf(key, this.#numbered.size)
    const numbered = sequenceKey(createHash('sha256').update(source).digest('base64url'), number)
    this.#numbered.set(key, numbered)
    this.#plain.set(numbered, key)
    return numbered
  }

  plain(key: Key): Key {
    return this.#plain.get(key) ?? key
  }
}

/** Each key is the fifth message of a source of its own. */
export const ownSources = (): Numbering => new Numbering((key) => [key, 5n])

/** All keys are messages of one source, in an order that leaves gaps. */
export const oneSource = (): Numbering => new Numbering((_, count) => ['the only one', BigInt(count ^ 3)])

/** For laws that use keys of records: a store of sequences under keys that have no number. */
export function numberedKeys(store: Store, numbering: Numbering): LeaseStore {
  if (store.strategy !== 'lease')
    throw new TypeError(`expected a store of leases, got ${store.strategy} (numberedKeys)`)
  return { strategy: 'lease', inOrder: store.inOrder ?? false, ...numberedCalls(store, numbering) }
}

function numberedInbox<Tx>(store: Store<Tx>, numbering: Numbering): InboxStore<Tx> {
  if (store.strategy !== 'inbox') throw new TypeError(`expected an inbox, got ${store.strategy} (numberedInbox)`)
  return { strategy: 'inbox', ...numberedCalls<TransactionAnswer<Tx>>(store, numbering) }
}

function numberedCalls<Answer extends LeaseAnswer | TransactionAnswer<unknown>>(
  store: StoreCalls<Answer>,
  numbering: Numbering,
): StoreCalls<Answer> {
  const transactions = new NumberedTransactions((claims) => there(claims))
  const there = <T extends { readonly key: Key }>(items: readonly T[]): readonly T[] =>
    items.map((item) => transactions.inside({ ...item, key: numbering.of(item.key) }))
  const back = (answer: Answer): Answer =>
    'claim' in answer ? { ...answer, claim: transactions.outside(plainClaim(answer.claim, numbering)) } : answer
  return {
    ...(store.admin === undefined ? {} : { admin: numberedAdmin(store.admin, numbering) }),
    open: () => store.open(),
    claim: async (request) => (await store.claim({ ...request, items: there(request.items) })).map(back),
    renew: (claims, leaseMs) => store.renew(there(claims), leaseMs),
    mark: (claims, results) => store.mark(there(claims), results),
    release: (claims, how) => store.release(there(claims), how),
    setAside: (claims, as, why) => store.setAside(there(claims), as, why),
  }
}

type Transaction = OpenTransaction<unknown>

/** Claims of one transaction, whose keys a law knows without their numbers. */
class NumberedTransactions {
  readonly #numbered: (claims: readonly Claim[]) => readonly Claim[]
  readonly #outside = new WeakMap<Transaction, Transaction>()
  readonly #inside = new WeakMap<Transaction, Transaction>()

  constructor(numbered: (claims: readonly Claim[]) => readonly Claim[]) {
    this.#numbered = numbered
  }

  outside<T extends object>(claim: T): T {
    return this.#with(claim, (transaction) => this.#outside.get(transaction) ?? this.#wrapped(transaction))
  }

  inside<T extends object>(claim: T): T {
    return this.#with(claim, (transaction) => this.#inside.get(transaction) ?? transaction)
  }

  #with<T extends object>(claim: T, change: (transaction: Transaction) => Transaction): T {
    const { transaction } = claim as { readonly transaction?: Transaction }
    return transaction === undefined ? claim : { ...claim, transaction: change(transaction) }
  }

  #wrapped(transaction: Transaction): Transaction {
    const giveBack: Transaction['giveBack'] = (claims) => transaction.giveBack(this.#numbered(claims))
    const wrapped = new Proxy(transaction, {
      get: (target, name) => {
        if (name === 'giveBack') return giveBack
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    this.#outside.set(transaction, wrapped)
    this.#inside.set(wrapped, transaction)
    return wrapped
  }
}

/** The whole harness of a law of inboxes. */
export function numberedInboxHarness<Tx>(harness: InboxHarness<Tx>, numbering: Numbering): InboxHarness<Tx> {
  const { spoil } = harness
  return {
    ...harness,
    store: numberedInbox(harness.store, numbering),
    secondStore: async () => numberedInbox(await harness.secondStore(), numbering),
    ...(spoil && { spoil: (key: Key) => spoil(numbering.of(key)) }),
  }
}

/** The whole harness of a law. */
export function numberedHarness<H extends LeaseHarness>(harness: H, numbering: Numbering): H {
  const { forget, spoil } = harness
  return {
    ...harness,
    store: numberedKeys(harness.store as Store, numbering),
    secondStore: async () => numberedKeys((await harness.secondStore()) as Store, numbering),
    ...(forget && { forget: (key: Key) => forget(numbering.of(key)) }),
    ...(spoil && { spoil: (key: Key) => spoil(numbering.of(key)) }),
  }
}

function plainClaim<C extends Claim>(claim: C, numbering: Numbering): C {
  return { ...claim, key: numbering.plain(claim.key) }
}

function numberedAdmin(admin: StoreAdmin, numbering: Numbering): StoreAdmin {
  const there = (keys: readonly Key[]): readonly Key[] => keys.map((key) => numbering.of(key))
  const back = <T extends { readonly key: Key }>(found: readonly T[]): readonly T[] =>
    found.map((one) => ({ ...one, key: numbering.plain(one.key) }))
  return {
    forgetsByItself: admin.forgetsByItself ?? false,
    purge: (scope, how) => admin.purge(scope, how),
    ...(admin.knownSince && { knownSince: async (scope) => admin.knownSince?.(scope) }),
    ...(admin.note && { note: async (scope, note) => admin.note?.(scope, note) }),
    ...(admin.replays && { replays: admin.replays }),
    peek: (scope, keys) => admin.peek(scope, there(keys)),
    list: async (scope, query) => {
      const page = await admin.list(scope, query)
      return { ...page, records: back(page.records) }
    },
    resolve: (scope, keys, how) => admin.resolve(scope, there(keys), how),
    reopen: (scope, keys, why) => admin.reopen(scope, there(keys), why),
    forget: (scope, keys, why) => admin.forget(scope, there(keys), why),
    ...(admin.import && {
      import: async (scope, keys, why) => (await admin.import?.(scope, there(keys), why)) ?? [],
    }),
    ...(admin.audit && {
      audit: async (scope, { key, ...query }) => {
        const page = await admin.audit?.(scope, { ...query, key: key === undefined ? undefined : numbering.of(key) })
        return { entries: back(page?.entries ?? []), next: page?.next }
      },
    }),
  }
}
