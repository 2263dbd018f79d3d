import type { OwnerToken, RenewVerdict } from '../../src/core/record.ts'
import { func, oneOf, or, type Table } from '../../src/foundation/options.ts'
import type { TransactionClaim } from '../../src/ports/store.ts'
import {
  transactionOf,
  type LendAs,
  type MemoryTransaction,
  type MemoryTx,
  type TransactionParts,
} from './memory-transaction.ts'
import type { MemoryOutbox } from './memory-outbox.ts'

export interface MemoryProcessOptions<Tx = MemoryTx, Effect = string> {
  /**
   * Creates the `tx` that your handlers expect.
   * @defaultValue the `MemoryTx` itself
   */
  readonly lendAs?: LendAs<Tx, Effect>
  /**
   * What a claim does when another transaction holds its key, or with stored offsets its stream. `busy`: answers at
   * once, as with a lock timeout of zero. `wait`: waits until that transaction has ended, without a limit.
   * @defaultValue 'busy'
   */
  readonly whenHeld?: 'busy' | 'wait'
}

export const MEMORY_PROCESS: Table<MemoryProcessOptions, 'lendAs'> = {
  lendAs: func(),
  whenHeld: or('busy', oneOf('busy', 'wait')),
}

interface Database<Effect> {
  /** Committed effects, in the order of their commits. */
  readonly effects: Effect[]
  readonly outbox?: MemoryOutbox | undefined
  /** What open transactions hold, by name. */
  readonly held: ReadonlyMap<string, unknown> & { delete(name: string): boolean }
}

/** One process with transactions on a database in memory. The effects of a transaction are committed with its mark. */
export abstract class MemoryProcess<Tx, Effect> {
  protected readonly whenHeld: 'busy' | 'wait'
  readonly #committed: Database<Effect>
  readonly #lendAs: LendAs<Tx, Effect>
  readonly #open = new Set<MemoryTransaction<Tx, Effect>>()

  constructor(
    committed: Database<Effect>,
    { lendAs, whenHeld }: { readonly lendAs: unknown; readonly whenHeld: 'busy' | 'wait' },
  ) {
    this.#committed = committed
    // With another `Tx` than `MemoryTx` the caller must pass `lendAs`.
    this.#lendAs = (lendAs as LendAs<Tx, Effect> | undefined) ?? ((memory) => memory as Tx)
    this.whenHeld = whenHeld
  }

  /** Open transactions of this process. */
  get openTransactions(): number {
    return this.#open.size
  }

  /**
   * Simulates the death of the process: the server rolls back its open transactions, including those of waiting claims.
   */
  die(): void {
    for (const transaction of this.#open) transaction.end('rolled-back')
  }

  async open(): Promise<void> {}

  async renew(claims: readonly TransactionClaim<Tx>[]): Promise<readonly RenewVerdict[]> {
    return claims.map((claim) => (transactionOf(claim).state === 'open' ? 'renewed' : 'lost'))
  }

  protected begin<T extends MemoryTransaction<Tx, Effect>>(
    token: OwnerToken,
    make: (parts: TransactionParts<Tx, Effect>) => T,
  ): T {
    // Sent again: the connection of the first call is gone, and its transaction with it.
    for (const earlier of this.#open) if (earlier.token === token) earlier.end('rolled-back')
    const { effects, outbox, held } = this.#committed
    const transaction: T = make({
      token,
      lendAs: this.#lendAs,
      onEnd: (state) => {
        if (state === 'committed') {
          effects.push(...transaction.effects)
          outbox?.write(transaction.outgoing)
        }
        for (const [name, holder] of held) if (holder === transaction) held.delete(name)
        this.#open.delete(transaction)
      },
    })
    this.#open.add(transaction)
    return transaction
  }
}
