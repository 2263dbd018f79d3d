import { Socket } from 'node:net'

interface Opened {
  readonly address: string
  readonly socket: Socket
  error: string | undefined
}

/** The most connections that are kept: a client may retry for ever. */
const MOST = 1_000

/** Which servers a config connects to while it is loaded: clients do not say for whom they wait. */
export class Connections implements Disposable {
  readonly #opened: Opened[] = []
  readonly #connect: unknown = Reflect.get(Socket.prototype, 'connect')

  constructor() {
    const [opened, connect] = [this.#opened, this.#connect as (...given: unknown[]) => Socket]
    Reflect.set(Socket.prototype, 'connect', function (this: Socket, ...given: unknown[]): Socket {
      const address = addressOf(given)
      if (address !== undefined && opened.length < MOST) {
        const one: Opened = { address, socket: this, error: undefined }
        opened.push(one)
        this.once('close', () => {
          one.error ??= 'the connection was closed'
        })
        // A listener more would hide an error that nobody else hears.
        const emit = this.emit.bind(this) as (...words: unknown[]) => boolean
        Reflect.set(this, 'emit', (...words: unknown[]) => {
          if (words[0] === 'error') one.error = codeOf(words[1])
          return emit(...words)
        })
      }
      return Reflect.apply(connect, this, given)
    })
  }

  /** Addresses of those from which nothing came, each with what is known of it. */
  silent(): readonly string[] {
    const last = new Map<string, Opened>()
    const answered = new Set<string>()
    for (const one of this.#opened) {
      if (one.socket.bytesRead > 0) answered.add(one.address)
      last.set(one.address, one)
    }
    return [...last.values()]
      .filter(({ address }) => !answered.has(address))
      .map(({ address, error }) => (error === undefined ? address : `${address} (${error})`))
  }

  [Symbol.dispose](): void {
    Reflect.set(Socket.prototype, 'connect', this.#connect)
  }
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? code : 'an error'
}

/** Reads the arguments of `connect`, also in the form that node passes on itself: `[[options, listener]]`. */
function addressOf(given: readonly unknown[]): string | undefined {
  const [first, second] = Array.isArray(given[0]) ? (given[0] as readonly unknown[]) : given
  if (typeof first === 'object' && first !== null) {
    const { path, host, port } = first as Readonly<Record<string, unknown>>
    if (typeof path === 'string') return path
    const isPort = typeof port === 'number' || typeof port === 'string'
    return isPort ? `${typeof host === 'string' ? host : 'localhost'}:${port}` : undefined
  }
  if (typeof first === 'number' || (typeof first === 'string' && /^\d+$/.test(first))) {
    return `${typeof second === 'string' ? second : 'localhost'}:${first}`
  }
  return typeof first === 'string' ? first : undefined
}
