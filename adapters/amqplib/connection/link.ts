import { describeError } from '../../../src/index.ts'
import { close } from './close.ts'
import type { Connector } from './connector.ts'
import { watch } from './watch.ts'
import type { AmqpConnection } from '../slice.ts'
import { NoAnswerError, within } from './within.ts'

const OPEN_WITHIN_MS = 15_000

/** One connection, watched from its first moment, with what is known about its server. */
export class Link {
  readonly connection: AmqpConnection
  readonly #isBorrowed: boolean
  readonly #unwatch: () => void
  #lostBecause: string | undefined
  #blockedBecause: string | undefined

  private constructor(connection: AmqpConnection, isBorrowed: boolean) {
    this.connection = connection
    this.#isBorrowed = isBorrowed
    const unwatch = watch(connection, (why) => {
      this.#lostBecause = why
    })
    const onBlocked = (reason: string): void => {
      this.#blockedBecause = reason
    }
    const onUnblocked = (): void => {
      this.#blockedBecause = undefined
    }
    connection.on('blocked', onBlocked)
    connection.on('unblocked', onUnblocked)
    this.#unwatch = () => {
      unwatch()
      connection.removeListener('blocked', onBlocked)
      connection.removeListener('unblocked', onUnblocked)
    }
  }

  /** A connection that comes too late is closed. */
  static async open(connector: Connector, title: string): Promise<Link> {
    const opening = connector.open(title)
    try {
      return new Link(await within(OPEN_WITHIN_MS, 'connect', opening), connector.isBorrowed)
    } catch (error) {
      if (!connector.isBorrowed) opening.then((late) => new Link(late, false).close()).catch(() => {})
      throw error
    }
  }

  /** Why the connection closed, if it did: open another link, which for a lent connection means to look at it again. */
  get lostBecause(): string | undefined {
    return this.#lostBecause
  }

  /** The broker's memory or disk runs out: it reads nothing from connections that publish. */
  get blockedBecause(): string | undefined {
    return this.#blockedBecause
  }

  /** Such as `3.10.8`; empty where the connection does not tell. */
  get serverVersion(): string {
    const version = this.connection.connection?.serverProperties['version']
    return typeof version === 'string' ? version : ''
  }

  async close(): Promise<void> {
    // A connection of ours keeps its listeners: an `error` that comes late must find one.
    if (this.#isBorrowed) return this.#unwatch()
    if (this.#lostBecause !== undefined) return
    try {
      await close(this.connection)
    } catch (error) {
      // Else a silent peer would keep the socket, and the process, until heartbeats are missed.
      if (error instanceof NoAnswerError) this.connection.connection?.stream?.destroy(error)
    }
  }
}

/** What went wrong, for people: a dual-stack connect hides it in a list. */
export function reasonOf(error: unknown): string {
  return describeError(error instanceof AggregateError && error.message === '' ? error.errors[0] : error)
}
