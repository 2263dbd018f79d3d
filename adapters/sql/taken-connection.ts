import { describeError, StoreError } from '../../src/spi.ts'
import { adviceOn } from './errors.ts'
import { within } from './within.ts'

/** The part of a driver's connection that is used here. */
interface ConnectionLike {
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** @throws StoreError `STORE_UNREACHABLE` */
export async function takeWithin<Connection extends { release(): void }>(
  limitMs: number,
  server: string,
  connecting: Promise<Connection>,
  advice: (error: unknown) => string | undefined,
): Promise<Connection> {
  try {
    return await within(limitMs, 'a connection out of the pool', connecting)
  } catch (cause) {
    // A late connection must go back, or the pool would lose it for ever.
    connecting.then(
      (connection) => connection.release(),
      () => {},
    )
    const text = `no connection to ${server}: ${describeError(cause)}${adviceOn({ advice }, cause)}`
    throw new StoreError('STORE_UNREACHABLE', text, { cause })
  }
}

/** A connection taken from its pool, until `close`. */
export abstract class TakenConnection {
  readonly #connection: ConnectionLike
  #spoiledBy: unknown
  #isRetired = false
  #isClosed = false
  #answeredAt = performance.now()
  #lostAfterMs = 0

  constructor(connection: ConnectionLike) {
    this.#connection = connection
    // The pool listens only while a connection is idle. Without a listener a terminated backend would end the process.
    connection.on('error', this.#onError)
  }

  /** Returns it to the pool; a spoiled or retired one is removed and closed. */
  protected abstract giveBack(): void

  /** Why it must not be used again. */
  get spoiledBy(): unknown {
    return this.#spoiledBy
  }

  spoil(cause: unknown): void {
    this.#spoiledBy ??= cause ?? new Error('spoiled for no reason (taken-connection.spoil)')
  }

  /** A statement was answered. */
  protected answered(): void {
    this.#answeredAt = performance.now()
  }

  /**
   * How long no statement had been sent when the server closed the connection, in milliseconds; 0 if it did not, or
   * while a statement was under way.
   */
  get lostAfterMs(): number {
    return this.#lostAfterMs
  }

  /** It is usable, but goes to nobody else: `close` closes it. */
  retire(): void {
    this.#isRetired = true
  }

  get isRetired(): boolean {
    return this.#isRetired
  }

  /** It was closed or spoiled, perhaps while a statement waited for its turn: do not send it. */
  get isOver(): boolean {
    return this.#isClosed || this.#spoiledBy !== undefined
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.giveBack()
    this.#connection.removeListener('error', this.#onError)
  }

  readonly #onError = (error: Error): void => {
    if (this.#spoiledBy === undefined) this.#lostAfterMs = performance.now() - this.#answeredAt
    this.spoil(error)
  }
}
