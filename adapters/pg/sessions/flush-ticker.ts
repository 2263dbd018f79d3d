import { StoreError, describeError } from '../../../src/internal.ts'
import type { PoolConnection } from './pool-connection.ts'
import { FLUSH, WHO_FLUSHES, type FlushRow } from '../statements/flush.ts'
import type { Statement } from '../statements/statement.ts'

/** Allows a caller to find out whether a later commit or read is on disk. */
export interface Attendance {
  /** Reads committed data on the flushing connection. */
  read<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /**
   * Resolves when everything that was committed between `attend` and this call is on disk.
   *
   * @throws StoreError `STORE_AMBIGUOUS` if that is unknown: a crash of the server may have undone it
   */
  flushed(): Promise<void>
  /** May be called twice. */
  leave(): void
}

/**
 * Flushes for all transactions that committed without a flush of their own. A successful flush alone proves nothing:
 * between commit and flush the server may have crashed, lost the commit, and restarted. Only a backend that existed
 * before the commit, and still answers, proves that the server did not crash. So the ticker has a connection of its
 * own, which it holds while anybody attends.
 */
export class FlushTicker {
  readonly #open: () => Promise<PoolConnection>
  #witness: Witness | undefined

  constructor(open: () => Promise<PoolConnection>) {
    this.#open = open
  }

  async attend(): Promise<Attendance> {
    if (this.#witness === undefined || this.#witness.isOver) this.#witness = new Witness(this.#open())
    const witness = this.#witness
    witness.enter()
    let isHere = true
    const leave = (): void => {
      if (isHere) witness.leave()
      isHere = false
    }
    try {
      await witness.ready
    } catch (error) {
      leave()
      throw error
    }
    return { read: (statement) => witness.read(statement), flushed: () => witness.flushed(), leave }
  }
}

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * One backend. All waiting callers share a flush that begins after their request; callers that come during a flush
 * share the next one. Flushes follow each other while anybody waits, without a timer.
 */
class Witness {
  readonly ready: Promise<unknown>
  readonly #connecting: Promise<PoolConnection>
  #connection: PoolConnection | undefined
  #backend: string | undefined
  #attending = 0
  #waiting: Waiting[] = []
  #isTicking = false
  #hasFailed = false

  constructor(connecting: Promise<PoolConnection>) {
    this.#connecting = connecting
    this.ready = this.#ask(WHO_FLUSHES).catch((error: unknown) => {
      this.#hasFailed = true
      throw error
    })
  }

  /** Nobody attends, or the connection proves nothing any more: the next caller needs another witness. */
  get isOver(): boolean {
    return this.#hasFailed || this.#attending === 0 || this.#connection?.spoiledBy !== undefined
  }

  enter(): void {
    this.#attending++
  }

  leave(): void {
    this.#attending--
    if (this.#attending > 0) return
    this.#connecting.then(
      (connection) => connection.close(),
      () => {},
    )
  }

  async read<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    const connection = await this.#connecting
    return ((await connection.run(statement)).at(-1)?.rows ?? []) as Row[]
  }

  flushed(): Promise<void> {
    const flushed = new Promise<void>((resolve, reject) => void this.#waiting.push({ resolve, reject }))
    if (!this.#isTicking) void this.#tick()
    return flushed
  }

  async #tick(): Promise<void> {
    this.#isTicking = true
    while (this.#waiting.length > 0) {
      const served = this.#waiting
      this.#waiting = []
      try {
        await this.#ask(FLUSH)
        for (const { resolve } of served) resolve()
      } catch (cause) {
        this.#hasFailed = true
        const text = `what was committed may not be on disk: ${describeError(cause)}`
        for (const { reject } of served) reject(new StoreError('STORE_AMBIGUOUS', text, { cause }))
      }
    }
    this.#isTicking = false
  }

  /** A pooler may have switched to another backend, which proves nothing. */
  async #ask(statement: Statement<FlushRow>): Promise<void> {
    this.#connection = await this.#connecting
    const [row] = await this.read(statement)
    const backend = row?.backend
    this.#backend ??= backend
    if (backend === undefined || backend !== this.#backend) throw new Error('it was flushed by another backend')
  }
}

const TICKERS = new WeakMap<object, FlushTicker>()

/** The ticker of a pool, shared by all stores on it. The first store decides how it connects. */
export function tickerOf(owner: object, open: () => Promise<PoolConnection>): FlushTicker {
  const known = TICKERS.get(owner)
  if (known !== undefined) return known
  const ticker = new FlushTicker(open)
  TICKERS.set(owner, ticker)
  return ticker
}
