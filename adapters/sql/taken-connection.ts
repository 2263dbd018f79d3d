import { describeError, StoreError } from '../../src/internal.ts'
import { adviceOn } from './errors.ts'
import { answeredWithin } from './answered-within.ts'

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
    return await answeredWithin(limitMs, 'a connection out of the pool', connecting)
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

/**
 * Asks a session for facts of its pool. Somebody else may have changed that session, so one whose answer is not `fine` is
 * closed, and another one asked: the pool makes new ones once it has closed those it had.
 */
export async function askedUntilFine<Connection extends TakenConnection, T>(
  most: number,
  take: () => Promise<Connection>,
  ask: (connection: Connection) => Promise<T>,
  isFine: (answer: T) => boolean,
): Promise<T> {
  for (let closed = 0; ; closed++) {
    const connection = await take()
    try {
      const answer = await ask(connection)
      if (isFine(answer) || closed >= most) return answer
      connection.retire()
    } finally {
      connection.close()
    }
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

  /** @throws StoreError `STORE_UNREACHABLE` in place of a COMMIT, which is then not sent */
  refuseCommitIfSpoiled(): void {
    if (this.#spoiledBy === undefined) return
    const text = 'the connection was lost before the COMMIT was sent: nothing was committed'
    throw new StoreError('STORE_UNREACHABLE', text, { cause: this.#spoiledBy })
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
