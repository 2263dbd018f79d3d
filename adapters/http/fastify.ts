import { Readable } from 'node:stream'
import { keepClaim } from './claims.ts'
import type { Facts, Guard, Refused } from './guard.ts'
import type { ResponseLike } from './held.ts'
import { runFrozenBySend } from './frozen-reply.ts'
import { ABOUT_BODY, holdResponse, sendOn } from './hold.ts'
import { bytesOfParsed, keyHeader, type BodyStreamLike } from './parsed-body.ts'

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

export type FastifyHook<R> = (
  request: R & FastifyRequestLike,
  reply: FastifyReplyLike,
  done: (error?: Error) => void,
) => void

export function fastify<R>(guard: Guard<R>): FastifyHook<R> {
  return (request, reply, done) => {
    if (!guard.applies(request.method)) return done()
    // Those of other hooks, such as for CORS.
    const before = reply.getHeaders()
    void holdResponse(
      guard,
      factsOf(request, guard.settings.maxBodyBytes),
      { request: request.raw, response: reply.raw },
      {
        handle: (claim) => {
          if (claim === undefined) return done()
          keepClaim(request, claim)
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
  }
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

function factsOf<R>(request: R & FastifyRequestLike, most: number): Facts<R> {
  const { method, url: path, raw: stream, rawBody, body } = request
  const read = () => bytesOfParsed({ stream, rawBody, body, isParsed: false }, most)
  return { request, method, path, key: keyHeader(request), body: read }
}

/** Fastify gives a content type to bytes that have none, and none to a stream. */
function payloadOf({ headers, body }: Refused): unknown {
  if (body.length === 0) return undefined
  const bytes = Buffer.from(body)
  return headers.some(([name]) => name === 'content-type') ? bytes : Readable.from([bytes])
}
