import { ServerResponse, STATUS_CODES, type IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { OutcomeUnknownError } from '../../src/internal.ts'
import { MOST_HELD_BYTES, tooLargeToHold, type Reply } from './reply.ts'

/** What is used of a response: that of `node:http`, or the compatible one of `node:http2`. */
export interface ResponseLike {
  statusCode: number
  statusMessage: string
  sendDate: boolean
  readonly headersSent: boolean
  readonly socket: object | null
  setHeader(name: string, value: string | readonly string[]): unknown
  removeHeader(name: string): void
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>
  addTrailers(headers: Record<string, string>): unknown
  end(chunk: Uint8Array, callback?: (error?: Error | null) => void): unknown
  once(event: 'finish' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  emit(event: 'error', error: Error): boolean
}

type Method = (...args: unknown[]) => unknown
type EndCallback = (error?: Error | null) => void

/** Methods and values of a response that depend on what was written. While it is held, its shadow answers them. */
const METHODS = [
  'setHeader',
  'setHeaders',
  'appendHeader',
  'getHeader',
  'getHeaderNames',
  'getRawHeaderNames',
  'getHeaders',
  'hasHeader',
  'removeHeader',
  'flushHeaders',
  'cork',
  'uncork',
] as const
const VALUES = [
  'statusCode',
  'statusMessage',
  'sendDate',
  'strictContentLength',
  'headersSent',
  'finished',
  'writableEnded',
  'writableLength',
  'writableCorked',
  'writableNeedDrain',
  '_header',
  '_headerSent',
] as const
const OWN = ['writeHead', 'write', 'end', 'addTrailers', 'destroy', 'writableFinished'] as const

const WRITE_HEADER = 'writeHeader'

/** All names of a response that are replaced while it is held. */
export const HELD: readonly string[] = [...METHODS, ...VALUES, ...OWN, WRITE_HEADER]

/** Which the types of node lack. */
interface WithRawNames {
  getRawHeaderNames(): string[]
}

/** Status line and headers, as they were when the handler sent them. */
interface Head {
  readonly status: number
  readonly message: string
  readonly headers: readonly (readonly [name: string, value: string | readonly string[]])[]
}

/**
 * Holds what a handler answers, until its key is marked. The handler's calls go to a second response, the shadow: one of
 * `node:http` that sends to nowhere. So the laws are those of node, because node keeps them: after the end, status,
 * headers and body are frozen, and a second answer fails as it does without this library.
 */
export class HeldResponse {
  /**
   * Resolves when the handler has ended the response: this is the end of the handler, for a large response too.
   * Rejects when the handler, or the application, destroys it before.
   */
  readonly reply: Promise<Reply>
  readonly #response: ResponseLike
  readonly #most: number
  readonly #shadow: ServerResponse
  readonly #replaced = new Map<string, PropertyDescriptor | undefined>()
  readonly #chunks: Buffer[] = []
  #heldBytes = 0
  readonly #trailers: Record<string, string>[] = []
  readonly #callbacks: EndCallback[] = []
  readonly #unwatch: () => void
  #head: Head | undefined
  #body: Buffer = Buffer.alloc(0)
  #isLast = false
  #resolve: (reply: Reply) => void = () => {}
  #reject: (error: Error) => void = () => {}

  /** `most`: the largest body that is kept, in bytes. */
  constructor(request: object, response: ResponseLike, most: number) {
    this.#response = response
    this.#most = most
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#shadow = shadowOf(request, response)
    this.#replace()
    this.#unwatch = this.#watch()
  }

  /** The connection was destroyed after the response had ended: as without this library, the response is sent before. */
  get isLast(): boolean {
    return this.#isLast
  }

  /** Sends what was collected. */
  send(): void {
    this.drop()
    const response = this.#response
    const { status, message, headers } = this.#headSent()
    const names = new Set(headers.map(([name]) => name.toLowerCase()))
    for (const name of Object.keys(response.getHeaders())) if (!names.has(name)) response.removeHeader(name)
    for (const [name, value] of headers) response.setHeader(name, value)
    if (this.#isLast) response.setHeader('connection', 'close')
    response.statusCode = status
    if (!this.#shadow.sendDate) response.sendDate = false
    // HTTP/2 has none, and warns.
    if (message !== STATUS_CODES[status]) response.statusMessage = message
    for (const trailers of this.#trailers) response.addTrailers(trailers)
    // A late write may come just now: its handler does not know when the mark is done.
    response.on('error', passedOver)
    const callbacks = this.#callbacks
    const callBack = (error?: Error | null): void => {
      for (const callback of callbacks) callback(error)
    }
    // Middleware that replaced `end` may take a callback for the encoding: without need none is given.
    if (callbacks.length === 0) response.end(this.#body)
    else response.end(this.#body, callBack)
  }

  /** The response has its own methods again, and nothing of what was collected. */
  drop(): void {
    this.#unwatch()
    for (const [name, descriptor] of this.#replaced) {
      if (descriptor === undefined) Reflect.deleteProperty(this.#response, name)
      else Object.defineProperty(this.#response, name, descriptor)
    }
    this.#replaced.clear()
  }

  #replace(): void {
    const shadow = this.#shadow as unknown as Record<string, unknown>
    for (const name of METHODS) {
      const method = shadow[name] as Method
      this.#define(name, { value: (...args: unknown[]) => this.#asOwn(method.apply(shadow, args)), writable: true })
    }
    for (const name of VALUES) {
      this.#define(name, {
        get: () => shadow[name],
        set: (value: unknown) => {
          shadow[name] = value
        },
      })
    }
    const own: Record<(typeof OWN)[number], PropertyDescriptor> = {
      writeHead: { value: (...args: unknown[]) => this.#writeHead(args), writable: true },
      write: { value: (...args: unknown[]) => this.#write(args), writable: true },
      end: { value: (...args: unknown[]) => this.#end(args), writable: true },
      addTrailers: { value: (trailers: Record<string, string>) => this.#addTrailers(trailers), writable: true },
      destroy: { value: (error?: Error) => this.#destroy(error), writable: true },
      writableFinished: { get: () => false },
    }
    for (const [name, descriptor] of Object.entries(own)) this.#define(name, descriptor)
    // Up to Node 24.
    if (WRITE_HEADER in this.#response) this.#define(WRITE_HEADER, own.writeHead)
  }

  #define(name: string, descriptor: PropertyDescriptor): void {
    // Another middleware, such as one for sessions, may have replaced it too.
    this.#replaced.set(name, Object.getOwnPropertyDescriptor(this.#response, name))
    Object.defineProperty(this.#response, name, { configurable: true, enumerable: false, ...descriptor })
  }

  #asOwn(value: unknown): unknown {
    return value === this.#shadow ? this.#response : value
  }

  #writeHead(args: unknown[]): unknown {
    const shadow = this.#shadow
    callOn(shadow, 'writeHead', args)
    const headers = (shadow as unknown as WithRawNames).getRawHeaderNames().map((name) => {
      const value = shadow.getHeader(name)
      return [name, Array.isArray(value) ? [...value] : String(value)] as const
    })
    this.#head = { status: shadow.statusCode, message: shadow.statusMessage, headers }
    return this.#response
  }

  #write(args: unknown[]): unknown {
    const isOpen = !this.#shadow.writableEnded
    const goesOn = callOn(this.#shadow, 'write', args)
    if (isOpen) this.#take(args)
    if (this.#heldBytes <= MOST_HELD_BYTES) return goesOn
    this.#chunks.length = 0
    this.#destroy(tooLargeToHold())
    return false
  }

  #end(args: unknown[]): unknown {
    const shadow = this.#shadow
    const callback = args.find((one): one is EndCallback => typeof one === 'function')
    if (shadow.writableEnded) {
      // With a chunk it is a write after the end. Without one it waits, as node lets it, for the response to be sent.
      if (args[0] && args[0] !== callback) callOn(shadow, 'end', args)
      else if (callback !== undefined) this.#callBack(callback)
      return this.#response
    }
    const given = args.filter((one) => one !== callback)
    callOn(shadow, 'end', given)
    this.#take(given)
    if (callback !== undefined) this.#callBack(callback)
    const { status, headers } = this.#headSent()
    this.#body = Buffer.concat(this.#chunks.splice(0))
    this.#resolve({
      status,
      headers: headers.map(([name, value]) => [name.toLowerCase(), String(value)]),
      body: this.#body.length > this.#most ? undefined : this.#body,
    })
    return this.#response
  }

  /**
   * Node 22 calls it as a listener of `finish`. Node 24.21 calls it before all listeners, and also when the response could
   * not be sent, with the error. It is called once, by whichever comes first.
   */
  #callBack(callback: EndCallback): void {
    let isCalled = false
    const called = (error?: Error | null): void => {
      if (isCalled) return
      isCalled = true
      callback(error)
    }
    this.#response.once('finish', () => called())
    this.#callbacks.push(called)
  }

  #take([chunk, encoding]: readonly unknown[]): void {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)) : Buffer.from(chunk)
    this.#heldBytes += bytes.length
    this.#chunks.push(bytes)
  }

  #addTrailers(trailers: Record<string, string>): void {
    this.#shadow.addTrailers(trailers)
    this.#trailers.push(trailers)
  }

  /** As a `pipeline` does whose source has failed. */
  #destroy(error?: Error): unknown {
    const { writableEnded } = this.#shadow
    if (writableEnded) this.#isLast = true
    else {
      this.#giveUp(error)
      this.drop()
      const response = this.#response as ResponseLike & { destroy(error?: Error): unknown }
      response.destroy(error)
    }
    return this.#response
  }

  #giveUp(cause?: Error): void {
    if (cause instanceof OutcomeUnknownError) return this.#reject(cause)
    const text = 'the response was destroyed before it had ended: it is not known what its handler has done'
    this.#reject(new OutcomeUnknownError(text, { cause }))
  }

  /**
   * Sees when this side destroys the connection, as Express does when a handler fails after it has begun its answer. A
   * client that goes away does not count: its next try gets the response.
   */
  #watch(): () => void {
    const { socket } = this.#response
    // A pipelined request has its connection later, and HTTP/2 lends out none.
    const isPlain = this.#response instanceof ServerResponse && socket instanceof Socket
    if (!isPlain || Object.hasOwn(socket, 'destroy')) return () => {}
    let hasTimedOut = false
    const onTimeout = (): void => {
      hasTimedOut = true
    }
    socket.once('timeout', onTimeout)
    const destroy = (error?: Error): Socket => {
      const isOurs = error === undefined && !socket.readableEnded && !hasTimedOut
      if (isOurs && this.#shadow.writableEnded) {
        this.#isLast = true
        return socket
      }
      if (isOurs) this.#giveUp()
      return Socket.prototype.destroy.call(socket, error)
    }
    socket.destroy = destroy
    return () => {
      socket.removeListener('timeout', onTimeout)
      if (socket.destroy === destroy) Reflect.deleteProperty(socket, 'destroy')
    }
  }

  #headSent(): Head {
    if (this.#head === undefined) throw new TypeError('a response that ended without a head (http/held.headSent)')
    return this.#head
  }
}

/** A response of `node:http` with the status and headers of `response`, which sends to nowhere. */
function shadowOf(request: object, response: ResponseLike): ServerResponse {
  const shadow = new ServerResponse(request as IncomingMessage)
  // node remembers the headers given to `writeHead` only if there were some before.
  shadow.setHeader('x', '')
  shadow.removeHeader('x')
  for (const [name, value] of Object.entries(response.getHeaders())) {
    if (value !== undefined) shadow.setHeader(name, value)
  }
  shadow.statusCode = response.statusCode
  // Middleware such as compression or sessions may replace `writeHead` of the response, to see the headers.
  Object.assign(shadow, {
    _implicitHeader: () => (response as unknown as ServerResponse).writeHead(shadow.statusCode),
  })
  shadow.on('error', (error) => {
    if (shadow.writableEnded) emitToListeners(response, error)
    else response.emit('error', error)
  })
  shadow.assignSocket(nowhere() as Socket)
  return shadow
}

/**
 * An error of a write after the end. Where nobody listens, node ends the process, within the tick in which a response is
 * sent; a held one is sent a round trip of the store later, and such writes did no harm before it was held. A `pipe`
 * listens, and emits the error again if it was the only one.
 */
function emitToListeners(response: ResponseLike, error: Error): void {
  response.on('error', passedOver)
  try {
    response.emit('error', error)
  } finally {
    response.removeListener('error', passedOver)
  }
}

function passedOver(): void {}

function callOn(shadow: ServerResponse, name: 'writeHead' | 'write' | 'end', args: readonly unknown[]): unknown {
  const methods = shadow as unknown as Record<typeof name, Method>
  return methods[name](...args)
}

/** Takes all at once: what is held lies in memory, and no `drain` would follow. */
function nowhere(): Writable {
  return new Writable({ highWaterMark: Number.MAX_SAFE_INTEGER, write: (_chunk, _encoding, done) => done() })
}

function encodingOf(encoding: unknown): BufferEncoding {
  return typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8'
}
