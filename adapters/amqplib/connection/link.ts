import { openingFailed } from './advice.ts'
import { close } from './close.ts'
import type { Connector } from './connector.ts'
import { watch } from './watch.ts'
import type { AmqpConnection } from '../amqplib-like.ts'
import { answerWithin, NoAnswerError } from './answer-within.ts'

const OPEN_WITHIN_MS = 15_000

/** One connection, watched from its first moment, with the properties of its server. */
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

  /**
   * A connection that opens after the timeout is closed.
   *
   * @throws ConfigError `CONFIG_INVALID`: address, user or certificate must change; BrokerError `BROKER_UNREACHABLE`
   */
  static async open(connector: Connector, title: string): Promise<Link> {
    const opening = connector.open(title)
    try {
      return new Link(await answerWithin(OPEN_WITHIN_MS, 'connect', opening), connector.isBorrowed)
    } catch (error) {
      if (!connector.isBorrowed) opening.then((late) => new Link(late, false).close()).catch(() => {})
      throw await openingFailed(error, connector)
    }
  }

  /**
   * Why the connection closed, if it did. Then open another link; for a borrowed connection that checks the same
   * connection again.
   */
  get lostBecause(): string | undefined {
    return this.#lostBecause
  }

  /** The broker is low on memory or disk: it reads nothing from connections that publish. */
  get blockedBecause(): string | undefined {
    return this.#blockedBecause
  }

  /** Such as `3.10.8`; empty if unknown. */
  get serverVersion(): string {
    const version = this.connection.connection?.serverProperties['version']
    return typeof version === 'string' ? version : ''
  }

  async close(): Promise<void> {
    // Our own connection keeps its listeners: a late `error` event must find one.
    if (this.#isBorrowed) return this.#unwatch()
    if (this.#lostBecause !== undefined) return
    try {
      await close(this.connection)
    } catch (error) {
      // Otherwise a silent peer would keep the socket, and the process, alive until heartbeats are missed.
      if (error instanceof NoAnswerError) this.connection.connection?.stream?.destroy(error)
    }
  }
}
