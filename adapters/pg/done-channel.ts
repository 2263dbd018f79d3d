import {
  backoffMs,
  checkNames,
  ConfigError,
  givenOf,
  shown,
  systemClock,
  systemEntropy,
  type DoneChannel,
  type DoneEars,
} from '../../src/spi.ts'

/** The part of a `Pool` of `pg` that is used. */
export interface ListenPoolLike {
  connect(): Promise<ListenClientLike>
  query(text: string, values: unknown[]): Promise<unknown>
}

export interface ListenClientLike {
  query(text: string): Promise<unknown>
  release(error?: Error | boolean): void
  on(
    event: 'notification',
    listener: (message: { readonly channel: string; readonly payload?: string | undefined }) => void,
  ): unknown
  on(event: 'error' | 'end', listener: () => void): unknown
}

export interface PostgresDoneChannelOptions {
  /** One of its connections listens until `close()`. A pooler in transaction mode cannot do that. */
  readonly pool: ListenPoolLike
  /** Name of the channel, the same in all processes that share. @defaultValue 'consume_once_done' */
  readonly channel?: string
}

export interface PostgresDoneChannel extends DoneChannel {
  /** Returns the connection that listens to its pool. Call it before `pool.end()`, which would wait for it. */
  close(): Promise<void>
}

const RECONNECT = { initialMs: 50, maxMs: 5_000 }

/**
 * Lets the caches of several processes share what is done, by LISTEN and NOTIFY: `withDoneCache(store, { max, share })`.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function postgresDoneChannel(options: PostgresDoneChannelOptions): PostgresDoneChannel {
  const given = givenOf(options)
  const { pool, channel = 'consume_once_done' } = given
  const problems: string[] = []
  checkNames('', given, { of: 'postgresDoneChannel()', known: { pool, channel } }, problems)
  if (typeof pool?.connect !== 'function') problems.push(`pool: expected a Pool of pg, got ${shown(pool)}`)
  // Postgres cuts a longer name, and lower case needs no quotes in psql.
  if (typeof channel !== 'string' || !/^[a-z_][a-z0-9_]{0,62}$/.test(channel)) {
    problems.push(`channel: expected 1 to 63 lower-case letters, digits and _, got ${shown(channel)}`)
  }
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `postgresDoneChannel: ${problem}`))
  return new Listener(pool, channel)
}

class Listener implements PostgresDoneChannel {
  readonly #pool: ListenPoolLike
  readonly #channel: string
  #ears: DoneEars | undefined
  #client: ListenClientLike | undefined
  #failures = 0
  #isClosed = false
  #connecting: Promise<void> | undefined
  #cancelRetry: (() => void) | undefined

  constructor(pool: ListenPoolLike, channel: string) {
    this.#pool = pool
    this.#channel = channel
  }

  async publish(text: string): Promise<void> {
    await this.#pool.query('select pg_notify($1, $2)', [this.#channel, text])
  }

  subscribe(ears: DoneEars): void {
    this.#ears = ears
    this.#connecting = this.#connect()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelRetry?.()
    this.#ears?.onLost()
    await this.#connecting
    const client = this.#client
    this.#client = undefined
    // Its LISTEN must not go back to the pool.
    client?.release(true)
  }

  async #connect(): Promise<void> {
    if (this.#isClosed) return
    try {
      const client = await this.#pool.connect()
      this.#client = client
      client.on('notification', ({ channel, payload }) => {
        if (this.#client === client && channel === this.#channel) this.#ears?.onText(payload ?? '')
      })
      client.on('error', () => this.#lost(client))
      client.on('end', () => this.#lost(client))
      await client.query(`listen ${this.#channel}`)
      this.#failures = 0
      if (this.#client === client && !this.#isClosed) this.#ears?.onOpen()
    } catch {
      if (this.#client === undefined) this.#retry()
      else this.#lost(this.#client)
    }
  }

  /** Once for each client. */
  #lost(client: ListenClientLike): void {
    if (this.#client !== client || this.#isClosed) return
    this.#client = undefined
    this.#ears?.onLost()
    client.release(true)
    this.#retry()
  }

  #retry(): void {
    if (this.#isClosed) return
    const delayMs = backoffMs(++this.#failures, RECONNECT, systemEntropy.fraction())
    this.#cancelRetry = systemClock.after(
      delayMs,
      () => {
        this.#connecting = this.#connect()
      },
      { background: true },
    )
  }
}
