import type { Key } from '../../core/record.ts'
import type { MonotonicMs } from '../../core/units.ts'
import type { Clock } from '../../ports/clock.ts'
import type { StoreOperation } from '../../ports/observer.ts'
import type { Store } from '../../ports/store.ts'
import type { StoreLine } from '../../execution/store-line.ts'

/** A store that has answered a call in this time is not asked. */
const QUIET_MS = 5_000

const KNOWN = Promise.resolve()

/** Has the form of a key. No message has it: keys are hashes. */
const NO_KEY: Key = 'consume-once-no-key--A'

interface Question {
  readonly operation: StoreOperation
  readonly ask: () => Promise<unknown>
}

/**
 * Asks the store a question that changes nothing, when somebody looks at the health of a consumer that has nothing to
 * do: without a message nobody would notice that its store is gone. The store counts as down only if it has answered
 * the same question before: a role or a custom store that cannot answer it may still serve messages.
 */
export class StoreCheck {
  readonly #clock: Clock
  readonly #line: StoreLine
  readonly #question: Question | undefined
  #isOpen = false
  #asking: Promise<void> | undefined
  #isOver = false
  #hasAnswered = false
  /** When the last call that was answered was sent, or the last question was. */
  #lastAt: MonotonicMs | undefined
  #triedAt: MonotonicMs | undefined

  constructor(
    clock: Clock,
    line: StoreLine,
    { store, scope }: { readonly store: Store<unknown>; readonly scope: string },
  ) {
    this.#clock = clock
    this.#line = line
    this.#question = questionTo(store, scope)
  }

  /** The store is open: it can be asked. */
  opened(): void {
    this.#isOpen = true
  }

  /** A call of the store that was sent then has been answered. */
  answered(sentAt: MonotonicMs): void {
    this.#lastAt = sentAt
  }

  stop(): void {
    this.#isOver = true
  }

  /**
   * Resolves when it is known, which may be at once. `isDoubtful`: something has just failed, so an answer of a moment ago
   * says nothing. Never rejects.
   */
  look(isDoubtful = false): Promise<void> {
    if (this.#asking !== undefined) return this.#asking
    const question = this.#question
    if (question === undefined || !this.#isOpen || this.#isOver || this.#line.isDown) return KNOWN
    // The first question comes soon, while the store still answers.
    const lastAt = this.#hasAnswered ? this.#lastAt : this.#triedAt
    const isFresh = lastAt !== undefined && this.#clock.monotonic() - lastAt < QUIET_MS
    if (isFresh && !(isDoubtful && this.#hasAnswered)) return KNOWN
    this.#asking = this.#ask(question).finally(() => (this.#asking = undefined))
    return this.#asking
  }

  async #ask(question: Question): Promise<void> {
    this.#lastAt = this.#triedAt = this.#clock.monotonic()
    try {
      if (this.#hasAnswered) await this.#line.watch(question.operation, question.ask)
      else await question.ask()
      this.#hasAnswered = true
    } catch {
      // `watch` has told it. A first question without an answer proves nothing.
    }
  }
}

function questionTo(store: Store<unknown>, scope: string): Question | undefined {
  if (store.strategy === 'offsets') return { operation: 'positions', ask: () => store.positions.list(scope) }
  const { admin } = store
  return admin && { operation: 'peek', ask: () => admin.peek(scope, [NO_KEY]) }
}
