import {
  backoffMs,
  having,
  matching,
  needed,
  optionsOf,
  or,
  systemClock,
  systemEntropy,
  type DoneChannel,
  type DoneEars,
  type Table,
} from '../../src/internal.ts'

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

const DONE_CHANNEL: Table<PostgresDoneChannelOptions> = {
  pool: needed(having('a Pool of pg', 'connect')),
  // Postgres cuts a longer name, and lower case needs no quotes in psql.
  channel: or('consume_once_done', matching('1 to 63 lower-case letters, digits and _', /^[a-z_][a-z0-9_]{0,62}$/)),
}

const RECONNECT = { initialMs: 50, maxMs: 5_000 }

/**
 * Lets the caches of several processes share what is done, by LISTEN and NOTIFY: `withDoneCache(store, { maxKeys, share })`.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function postgresDoneChannel(options: PostgresDoneChannelOptions): PostgresDoneChannel {
  const { pool, channel } = optionsOf('postgresDoneChannel', DONE_CHANNEL, options)
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
