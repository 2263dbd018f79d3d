import { ConfigError } from '../../src/spi.ts'
import { Guard, type Answer, type Facts } from './guard.ts'
import { settingsOf, type IdempotencyContext, type IdempotencyOptions } from './options.ts'
import { bytesOfBody } from './parsed-body.ts'
import type { Reply } from './reply.ts'

/** What is used of a request of Express, or of Nest on Express. */
export interface ExpressRequestLike {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly originalUrl?: string
  /** Parsed before, such as by `express.json()`. */
  readonly body?: unknown
  /** The bytes that were parsed, if the parser keeps them. */
  readonly rawBody?: Uint8Array
}

/** What is used of a response: that of `node:http`. */
export interface ExpressResponseLike {
  statusCode: number
  readonly headersSent: boolean
  setHeader(name: string, value: string | readonly string[]): unknown
  removeHeader(name: string): void
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>
  write(chunk: Uint8Array): unknown
  end(chunk?: Uint8Array): unknown
  writeHead: unknown
  flushHeaders: unknown
}

const claims = new WeakMap<object, unknown>()

/** The claim under which a request is handled. `undefined`: it has none. */
export function idempotencyOf<Tx = never>(request: object): IdempotencyContext<Tx> | undefined {
  return claims.get(request) as IdempotencyContext<Tx> | undefined
}

/**
 * Middleware for Express and for Nest on Express, see `idempotent`. Mount it behind the authentication and the parser of
 * bodies (bodies are compared by `rawBody`, or as parsed), and before the routes. The response is held back until its
 * key is marked. Handlers find their claim by `idempotencyOf(request)`.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function expressIdempotency<R extends ExpressRequestLike = ExpressRequestLike, Tx = never>(
  options: IdempotencyOptions<R, Tx>,
): (request: R, response: ExpressResponseLike, next: (error?: unknown) => void) => void {
  const guard = new Guard(settingsOf(options, 'expressIdempotency()'))
  return (request, response, next) => {
    if (guard.applies(request.method ?? '')) void handle(guard, request, response, next)
    else next()
  }
}

async function handle<R extends ExpressRequestLike>(
  guard: Guard<R>,
  request: R,
  response: ExpressResponseLike,
  next: (error?: unknown) => void,
): Promise<void> {
  let held: HeldResponse | undefined
  try {
    const answer = await guard.answer(factsOf(request, guard.settings.maxBodyBytes), async (claim) => {
      if (claim === undefined) {
        next()
        return { status: 0, headers: [], body: undefined }
      }
      claims.set(request, claim)
      held = new HeldResponse(response, guard.settings.maxResponseBytes)
      next()
      return held.reply
    })
    held?.release({ isSent: answer === 'own' })
    if (answer !== 'own') send(response, answer)
  } catch (error) {
    held?.release({ isSent: false })
    next(error)
  }
}

function factsOf<R extends ExpressRequestLike>(request: R, most: number): Facts<R> {
  const { method = '' } = request
  const header = request.headers['idempotency-key']
  return {
    request,
    method,
    path: request.originalUrl ?? request.url ?? '',
    key: typeof header === 'string' || header === undefined ? header : header.join(', '),
    body: () => {
      const hasBody =
        request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length']) > 0
      if (hasBody && request.body === undefined && request.rawBody === undefined) {
        throw new ConfigError([
          'idempotency: expected a parsed body, got none: mount express.json() or another parser before, for this content type',
        ])
      }
      return bytesOfBody(request.rawBody ?? request.body, most)
    },
  }
}

function send(response: ExpressResponseLike, { status, headers, body }: Exclude<Answer, 'own'>): void {
  if (response.headersSent) return
  for (const name of Object.keys(response.getHeaders())) if (name.startsWith('content-')) response.removeHeader(name)
  response.statusCode = status
  for (const [name, value] of headers) response.setHeader(name, value)
  response.end(body)
}

/** The methods of a response that write. */
type Writing = Readonly<Record<'write' | 'end' | 'writeHead' | 'flushHeaders', unknown>>

/** Collects what a handler writes, and sends it later. What is larger than the limit is not kept, and sent all the same. */
class HeldResponse {
  /** Resolves when the handler has ended the response, or has written more than is kept. */
  readonly reply: Promise<Reply>
  readonly #response: ExpressResponseLike
  readonly #most: number
  readonly #chunks: Buffer[] = []
  readonly #own: Writing
  #bytes = 0
  #hasEnded = false
  #resolve: (reply: Reply) => void = () => {}

  constructor(response: ExpressResponseLike, most: number) {
    this.#response = response
    this.#most = most
    // Another middleware, such as compression, may have replaced them too.
    const own: Writing = response
    this.#own = { write: own.write, end: own.end, writeHead: own.writeHead, flushHeaders: own.flushHeaders }
    this.reply = new Promise((resolve) => {
      this.#resolve = resolve
    })
    Object.assign(response, {
      write: (...args: unknown[]) => this.#write(args),
      end: (...args: unknown[]) => this.#end(args),
      writeHead: (...args: unknown[]) => this.#writeHead(args),
      flushHeaders: () => {},
    })
  }

  /** The response has its own methods again. `isSent`: what was collected is sent. */
  release({ isSent }: { readonly isSent: boolean }): void {
    Object.assign(this.#response, this.#own)
    if (!isSent) return
    if (this.#hasEnded) this.#response.end(Buffer.concat(this.#chunks))
    else for (const chunk of this.#chunks) this.#response.write(chunk)
  }

  #write(args: readonly unknown[]): true {
    const [chunk, encoding] = args
    if (typeof chunk === 'string') this.#chunks.push(Buffer.from(chunk, encodingOf(encoding)))
    else if (chunk instanceof Uint8Array) this.#chunks.push(Buffer.from(chunk))
    this.#bytes += this.#chunks.at(-1)?.length ?? 0
    if (this.#bytes > this.#most) this.#told(undefined)
    callBack(args)
    return true
  }

  #end(args: readonly unknown[]): ExpressResponseLike {
    const [chunk] = args
    if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') this.#write(args.slice(0, 2))
    this.#hasEnded = true
    this.#told(Buffer.concat(this.#chunks))
    callBack(args)
    return this.#response
  }

  #writeHead([status, ...rest]: readonly unknown[]): ExpressResponseLike {
    this.#response.statusCode = Number(status)
    const headers = rest.find((one) => typeof one === 'object' && one !== null)
    const pairs = Array.isArray(headers) ? inPairs(headers) : Object.entries(headers ?? {})
    for (const [name, value] of pairs) this.#response.setHeader(name, value as string)
    return this.#response
  }

  #told(body: Buffer | undefined): void {
    const headers = Object.entries(this.#response.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as const],
    )
    const isTooLarge = body === undefined || body.length > this.#most
    this.#resolve({ status: this.#response.statusCode, headers, body: isTooLarge ? undefined : body })
  }
}

function inPairs(flat: readonly unknown[]): [string, unknown][] {
  const pairs: [string, unknown][] = []
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.push([String(flat[at]), flat[at + 1]])
  return pairs
}

function encodingOf(encoding: unknown): BufferEncoding {
  return typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'
}

function callBack(args: readonly unknown[]): void {
  const callback = args.at(-1)
  if (typeof callback === 'function') process.nextTick(callback)
}
