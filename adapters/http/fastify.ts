import { Guard, type Answer, type Facts } from './guard.ts'
import { settingsOf, type IdempotencyContext, type IdempotencyOptions } from './options.ts'
import { bytesOfBody } from './parsed-body.ts'
import type { Reply } from './reply.ts'

/** What is used of a request of Fastify. */
export interface FastifyRequestLike {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body?: unknown
  readonly rawBody?: string | Uint8Array
}

/** What is used of a reply of Fastify. */
export interface FastifyReplyLike {
  readonly statusCode: number
  code(status: number): unknown
  header(name: string, value: string): unknown
  removeHeader(name: string): unknown
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>
  send(payload: unknown): unknown
}

/** What is used of an instance of Fastify. */
export interface FastifyLike {
  addHook(name: 'preHandler', hook: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>): unknown
  addHook(
    name: 'onSend',
    hook: (request: FastifyRequestLike, reply: FastifyReplyLike, payload: unknown) => Promise<unknown>,
  ): unknown
}

interface Held {
  readonly answer: Promise<Answer>
  readonly tell: (reply: Reply) => void
}

const claims = new WeakMap<object, unknown>()

/** The claim under which a request of Fastify is handled. `undefined`: it has none. */
export function fastifyIdempotencyOf<Tx = never>(request: object): IdempotencyContext<Tx> | undefined {
  return claims.get(request) as IdempotencyContext<Tx> | undefined
}

/**
 * Hooks for Fastify, see `idempotent`: `fastifyIdempotency(app, options)`, for the routes that are added to `app`. Give
 * a scope of `app.register` to protect only its routes. Authenticate before, in `onRequest`. Handlers find their claim by
 * `fastifyIdempotencyOf(request)`. The response is held back until its key is marked. A stream is sent, and not kept.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function fastifyIdempotency<R extends FastifyRequestLike = FastifyRequestLike, Tx = never>(
  app: FastifyLike,
  options: IdempotencyOptions<R, Tx>,
): void {
  const guard = new Guard(settingsOf(options, 'fastifyIdempotency()'))
  const held = new WeakMap<object, Held>()
  app.addHook('preHandler', async (request, reply) => {
    if (!guard.applies(request.method)) return undefined
    const answer = await begin(guard, request as R, held)
    if (answer === undefined || answer === 'own') return undefined
    apply(reply, answer)
    return reply.send(Buffer.from(answer.body))
  })
  app.addHook('onSend', async (request, reply, payload) => {
    const own = held.get(request)
    if (own === undefined) return payload
    held.delete(request)
    own.tell(replyOf(reply, payload, guard.settings.maxResponseBytes))
    const answer = await own.answer
    if (answer === 'own') return payload
    apply(reply, answer)
    return Buffer.from(answer.body)
  })
}

/** Resolves with `undefined` when the handler may run, else with the answer. */
function begin<R extends FastifyRequestLike>(
  guard: Guard<R>,
  request: R,
  held: WeakMap<object, Held>,
): Promise<Answer | undefined> {
  return new Promise((resolve, reject) => {
    const answer = guard.answer(factsOf(request, guard.settings.maxBodyBytes), (claim) => {
      if (claim === undefined) {
        resolve(undefined)
        return Promise.resolve({ status: 0, headers: [], body: undefined })
      }
      claims.set(request, claim)
      return new Promise<Reply>((tell) => {
        held.set(request, { answer, tell })
        resolve(undefined)
      })
    })
    answer.then(resolve, reject)
  })
}

function factsOf<R extends FastifyRequestLike>(request: R, most: number): Facts<R> {
  const header = request.headers['idempotency-key']
  const key = typeof header === 'string' || header === undefined ? header : header.join(', ')
  const { method, url: path } = request
  return { request, method, path, key, body: () => bytesOfBody(request.rawBody ?? request.body, most) }
}

function apply(reply: FastifyReplyLike, { status, headers }: Exclude<Answer, 'own'>): void {
  for (const name of Object.keys(reply.getHeaders())) if (name.startsWith('content-')) reply.removeHeader(name)
  reply.code(status)
  for (const [name, value] of headers) reply.header(name, value)
}

function replyOf(reply: FastifyReplyLike, payload: unknown, most: number): Reply {
  const headers = Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    value === undefined ? [] : [[name.toLowerCase(), String(value)] as const],
  )
  const isWhole =
    payload === undefined || payload === null || typeof payload === 'string' || payload instanceof Uint8Array
  return { status: reply.statusCode, headers, body: isWhole ? bytesOfBody(payload ?? undefined, most) : undefined }
}
