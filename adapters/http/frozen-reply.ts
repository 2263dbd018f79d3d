import { AsyncLocalStorage } from 'node:async_hooks'

/** What is used of a reply of Fastify. */
export interface SendingReply {
  readonly sent: boolean
  send(payload?: unknown): unknown
}

/** Whose code runs: of a handler, or of what Fastify does with its answer (hooks, a handler of errors). */
type Side = { readonly is: 'handler' | 'sending'; readonly reply: object }

const side = new AsyncLocalStorage<Side>()

/** Methods that change a reply and return it. */
const CHANGES = ['code', 'status', 'header', 'headers', 'removeHeader', 'send'] as const

/**
 * Runs a handler of Fastify, whose first `reply.send` is its answer. Hooks `onSend` may take their time between that and
 * the end of the response: for the handler status, headers and body are frozen meanwhile, as after the end. For the
 * hooks they are not, and neither for code that cannot be told from them. A stream is frozen at its end: until then it
 * may fail.
 */
export function runFrozenBySend(reply: SendingReply, handle: () => void): void {
  let isAnswered = false
  const isFrozen = (): boolean => {
    const own = side.getStore()
    return isAnswered && own?.is === 'handler' && own.reply === reply
  }
  const methods = reply as unknown as Record<(typeof CHANGES)[number], (...args: unknown[]) => unknown>
  const { send } = methods
  for (const name of CHANGES) {
    const method = methods[name]
    methods[name] = (...args) => (isFrozen() ? reply : method.apply(reply, args))
  }
  methods.send = (...args) => {
    // Fastify warns that it is sent already.
    if (isFrozen()) return send.apply(reply, args)
    const sent = side.run({ is: 'sending', reply }, () => send.apply(reply, args))
    isAnswered ||= !isStream(args[0])
    return sent
  }
  const prototype = Object.getPrototypeOf(reply) as object
  Object.defineProperty(reply, 'sent', {
    configurable: true,
    get: () => isFrozen() || Reflect.get(prototype, 'sent', reply) === true,
  })
  side.run({ is: 'handler', reply }, handle)
}

/** Also a `Response`, whose body is one. */
function isStream(payload: unknown): boolean {
  const { pipe, getReader, body } = (payload ?? {}) as Readonly<Record<string, unknown>>
  return typeof pipe === 'function' || typeof getReader === 'function' || body instanceof ReadableStream
}
