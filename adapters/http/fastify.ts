import { Readable } from 'node:stream'
import { Guard, type Facts, type Refused } from './guard.ts'
import type { ResponseLike } from './held.ts'
import { runFrozenBySend } from './frozen-reply.ts'
import { ABOUT_BODY, holdResponse, sendOn } from './hold.ts'
import { settingsOf, type IdempotencyContext, type IdempotencyOptions } from './options.ts'
import { bytesOfParsed, type BodyStreamLike } from './parsed-body.ts'

/** What is used of a request of Fastify. */
export interface FastifyRequestLike {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body?: unknown
  readonly rawBody?: string | Uint8Array
  readonly raw: BodyStreamLike
}

/** What is used of a reply of Fastify. */
export interface FastifyReplyLike {
  readonly sent: boolean
  readonly raw: ResponseLike
  code(status: number): unknown
  header(name: string, value: unknown): unknown
  removeHeader(name: string): unknown
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>
  send(payload?: unknown): unknown
}

/** What is used of an instance of Fastify. */
export interface FastifyLike {
  addHook(
    name: 'preHandler',
    hook: (request: FastifyRequestLike, reply: FastifyReplyLike, done: (error?: Error) => void) => void,
  ): unknown
}

const claims = new WeakMap<object, unknown>()

/** The claim under which a request of Fastify is handled. `undefined`: it has none. */
export function fastifyIdempotencyOf<Tx = never>(request: object): IdempotencyContext<Tx> | undefined {
  return claims.get(request) as IdempotencyContext<Tx> | undefined
}

/**
 * Hook for Fastify, see `idempotent`: `fastifyIdempotency(app, options)`, for the routes that are added to `app`. Give
 * a scope of `app.register` to protect only its routes. Authenticate before, in `onRequest`. Handlers find their claim by
 * `fastifyIdempotencyOf(request)`.
 *
 * The response is held in memory until it has ended, streams too, and its key is marked. `reply.send` ends the handler:
 * a query on `tx` after it is refused with `TRANSACTION_OVER`, and a failure after it changes nothing.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function fastifyIdempotency<R extends FastifyRequestLike = FastifyRequestLike, Tx = never>(
  app: FastifyLike,
  options: IdempotencyOptions<R, Tx>,
): void {
  const guard = new Guard(settingsOf(options, 'fastifyIdempotency()'), 'parsed')
  app.addHook('preHandler', (request, reply, done) => {
    if (!guard.applies(request.method)) return done()
    // Those of other hooks, such as for CORS.
    const before = reply.getHeaders()
    void holdResponse(
      guard,
      factsOf(request as R, guard.settings.maxBodyBytes),
      { request: request.raw, response: reply.raw },
      {
        handle: (claim) => {
          if (claim === undefined) return done()
          claims.set(request, claim)
          runFrozenBySend(reply, done)
        },
        answer: (answer, hasRun) => {
          if (!hasRun) return replyWith(reply, answer)
          setHeaders(reply.raw, before)
          sendOn(reply.raw, answer)
        },
        fail: (error, hasRun) => {
          if (!hasRun) return done(error as Error)
          for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name)
          for (const [name, value] of Object.entries(before)) reply.header(name, value)
          if (!reply.sent) reply.send(error)
          // After `reply.hijack()`.
          else sendOn(reply.raw, { status: 500, headers: [], body: Buffer.alloc(0) })
        },
      },
    )
  })
}

function replyWith(reply: FastifyReplyLike, answer: Refused): void {
  for (const name of ABOUT_BODY) reply.removeHeader(name)
  if (answer.body.length > 0) reply.header('content-length', String(answer.body.length))
  reply.code(answer.status)
  for (const [name, value] of answer.headers) reply.header(name, value)
  reply.send(payloadOf(answer))
}

function setHeaders(response: ResponseLike, headers: ReturnType<FastifyReplyLike['getHeaders']>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) response.setHeader(name, Array.isArray(value) ? value : String(value))
  }
}

function factsOf<R extends FastifyRequestLike>(request: R, most: number): Facts<R> {
  const header = request.headers['idempotency-key']
  const key = typeof header === 'string' || header === undefined ? header : header.join(', ')
  const { method, url: path, raw: stream, rawBody, body } = request
  const read = () => bytesOfParsed({ stream, rawBody, body, isParsed: false }, most)
  return { request, method, path, key, body: read }
}

/** Fastify gives a content type to bytes that have none, and none to a stream. */
function payloadOf({ headers, body }: Refused): unknown {
  if (body.length === 0) return undefined
  const bytes = Buffer.from(body)
  return headers.some(([name]) => name === 'content-type') ? bytes : Readable.from([bytes])
}
