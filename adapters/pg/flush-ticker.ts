import { StoreError, describeError } from '../../src/index.ts'
import type { PoolConnection } from './pool-connection.ts'
import { FLUSH, WHO_FLUSHES, type FlushRow } from './sql/flush.ts'
import type { Statement } from './sql/statement.ts'

/** Whoever was here before something was committed or read may learn that it is on disk. */
export interface Attendance {
  /** What is committed, read on the connection that flushes. */
  read<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /**
   * All that was committed since `attend` and before this call is on disk.
   *
   * @throws StoreError `STORE_AMBIGUOUS` where that is not known: a crash of the server may have undone it
   */
  flushed(): Promise<void>
  /** May be called twice. */
  leave(): void
}

/**
 * Flushes for all who have committed without a flush of their own. A flush that succeeds proves nothing by itself: between the
 * commit and the flush the server may have crashed, forgotten the commit, and come back. Only a backend that was there before
 * the commit, and still answers, proves that it has not: hence a connection of the ticker's own, which is held while anybody
 * attends and given back when nobody does.
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
 * One backend. All who wait share a flush that begins after they have asked; those who ask while one is under way share the
 * next. One follows the other while anybody waits, without a timer.
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

  /** Nobody is here any more, or it proves nothing any more: the next to come need another. */
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

  /** A pooler may have given the connection to another backend, which was not there. */
  async #ask(statement: Statement<FlushRow>): Promise<void> {
    this.#connection = await this.#connecting
    const [row] = await this.read(statement)
    const backend = row?.backend
    this.#backend ??= backend
    if (backend === undefined || backend !== this.#backend) throw new Error('it was flushed by another backend')
  }
}

const TICKERS = new WeakMap<object, FlushTicker>()

/** The ticker of a pool, shared by every store on it. The first decides how it connects. */
export function tickerOf(owner: object, open: () => Promise<PoolConnection>): FlushTicker {
  const known = TICKERS.get(owner)
  if (known !== undefined) return known
  const ticker = new FlushTicker(open)
  TICKERS.set(owner, ticker)
  return ticker
}
