import type { Store } from '../../src/index.ts'
import type {
  Claim,
  ClaimAnswer,
  ClaimRequest,
  MarkVerdict,
  StoreCalls,
  Strategy,
  TransactionClaim,
} from '../../src/spi.ts'

interface StoreHooks {
  /** Claims are granted, and nothing has started yet. */
  readonly onClaimed: (count: number) => void
  /** Marks are durable, and nothing has been settled yet. */
  readonly onMarked: (count: number) => void
}

/** The answer that a dead process gets. */
const NEVER = new Promise<never>(() => {})

/**
 * The store as one incarnation of the process sees it. After its death it gets no answers, and its open transactions
 * are rolled back, as a server does when a connection is gone.
 */
export class IncarnationStore implements StoreCalls {
  readonly strategy: Strategy
  readonly #store: StoreCalls
  readonly #hooks: StoreHooks
  /** Claims granted and not ended: those that a dead process leaves behind. */
  readonly #held = new Set<Claim>()
  /** Claim calls without an answer: they may be granted at any moment. */
  #asking = 0
  #isDead = false
  /** Effects whose mark was not sent yet, according to the caller. */
  #unmarked = 0

  constructor(store: Store<unknown>, hooks: StoreHooks) {
    this.strategy = store.strategy
    this.#store = store
    this.#hooks = hooks
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** An effect happened; its mark is still to be sent. */
  effectHappened(): void {
    this.#unmarked++
  }

  /** No effect is between itself and its mark: a crash now repeats nothing, even under a lease. */
  get isBetweenEffects(): boolean {
    return this.#unmarked <= 0
  }

  /** Nothing is claimed: a crash now leaves nothing in doubt. */
  get holdsNothing(): boolean {
    return this.#held.size === 0 && this.#asking === 0
  }

  async die(): Promise<void> {
    this.#isDead = true
    if (this.strategy === 'lease') return
    await this.#rollBack([...this.#held])
  }

  async open(): Promise<void> {
    await this.#store.open()
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimAnswer<unknown>[]> {
    if (this.#isDead) return NEVER
    this.#asking++
    try {
      const answers = await this.#store.claim(request)
      await this.#granted(answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : [])))
      return this.#isDead ? NEVER : answers
    } finally {
      this.#asking--
    }
  }

  async #granted(claims: readonly Claim[]): Promise<void> {
    if (this.#isDead) return this.#rollBack(claims)
    for (const claim of claims) this.#held.add(claim)
    if (claims.length > 0) this.#hooks.onClaimed(claims.length)
  }

  async renew(claims: readonly Claim[], leaseMs: number): ReturnType<StoreCalls['renew']> {
    return this.#isDead ? NEVER : this.#alive(this.#store.renew(claims, leaseMs))
  }

  async mark(claims: readonly Claim[]): Promise<readonly MarkVerdict[]> {
    if (this.#isDead) return NEVER
    this.#unmarked -= claims.length
    const verdicts = await this.#store.mark(claims)
    for (const claim of claims) this.#held.delete(claim)
    // The mark is durable even if the process does not live to see the answer.
    const marked = verdicts.filter((verdict) => verdict === 'marked' || verdict === 'marked-late').length
    if (marked > 0) this.#hooks.onMarked(marked)
    return this.#isDead ? NEVER : verdicts
  }

  async release(...call: Parameters<StoreCalls['release']>): ReturnType<StoreCalls['release']> {
    if (this.#isDead) return NEVER
    for (const claim of call[0]) this.#held.delete(claim)
    return this.#alive(this.#store.release(...call))
  }

  async setAside(...call: Parameters<StoreCalls['setAside']>): ReturnType<StoreCalls['setAside']> {
    if (this.#isDead) return NEVER
    for (const claim of call[0]) this.#held.delete(claim)
    return this.#alive(this.#store.setAside(...call))
  }

  /** Rolls back, as the server does for a lost connection. */
  async #rollBack(held: readonly Claim[]): Promise<void> {
    for (const transaction of new Set(held.map(transactionOf))) {
      const claims = held.filter((claim) => transactionOf(claim) === transaction)
      if (transaction !== undefined) await this.#store.release(claims, { refund: false, doubt: false })
    }
  }

  async #alive<T>(answer: Promise<T>): Promise<T> {
    const value = await answer
    return this.#isDead ? NEVER : value
  }
}

function transactionOf(claim: Claim | TransactionClaim<unknown>): unknown {
  return 'transaction' in claim ? claim.transaction : undefined
}
