import { Guard, type Answer, type Facts } from './guard.ts'
import { settingsOf, type IdempotencyContext, type IdempotencyOptions } from './options.ts'
import type { Reply } from './reply.ts'

/** `context` is `undefined` for a request without a key, if keys are not required, and for other methods. */
export type IdempotentHandler<Tx = never> = (
  request: Request,
  context: IdempotencyContext<Tx> | undefined,
) => Response | Promise<Response>

/**
 * Makes a handler of the fetch form idempotent by the header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header):
 * the first response is stored with the mark of the key, and repeated with `Idempotency-Replayed: true`.
 *
 * | status | `code`                                               | when                                               |
 * | ------ | ---------------------------------------------------- | -------------------------------------------------- |
 * | 400    | `IDEMPOTENCY_KEY_MISSING`, `IDEMPOTENCY_KEY_INVALID` |                                                    |
 * | 401    | `CALLER_UNKNOWN`                                     | `caller` gave none                                 |
 * | 409    | `IDEMPOTENCY_KEY_IN_USE`, with `Retry-After`         | the first request with the key is under way        |
 * | 409    | `OUTCOME_UNKNOWN`                                    | `onInDoubt: 'park'`, and its run has no known end  |
 * | 409    | `RESPONSE_NOT_KEPT`                                  | handled; the response was too large to be kept     |
 * | 413    | `BODY_TOO_LARGE`                                     |                                                    |
 * | 422    | `IDEMPOTENCY_KEY_REUSED`                             | the key came with another body, path or method     |
 * | 503    | `STORE_UNREACHABLE`, with `Retry-After`              |                                                    |
 *
 * The function that is returned rejects with any error of the handler; the key is then free again.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function idempotent<Tx = never>(
  handler: IdempotentHandler<Tx>,
  options: IdempotencyOptions<Request, Tx>,
): (request: Request) => Promise<Response> {
  const guard = new Guard(settingsOf(options, 'idempotent()'))
  return (request) =>
    answerFetch(guard, request, (context) => handler(request, context as IdempotencyContext<Tx> | undefined))
}

/** Handles one request of the fetch form. */
export async function answerFetch(
  guard: Guard<Request>,
  request: Request,
  handle: (context: object | undefined) => Response | Promise<Response>,
): Promise<Response> {
  const { maxBodyBytes, maxResponseBytes } = guard.settings
  let live: Response | undefined
  const { method, url } = request
  const { pathname, search } = new URL(url)
  const facts: Facts<Request> = {
    request,
    method,
    path: pathname + search,
    key: request.headers.get('idempotency-key') ?? undefined,
    body: () => wholeBody(request.clone().body, maxBodyBytes),
  }
  const answer = await guard.answer(facts, async (context) => {
    live = await handle(context)
    if (context === undefined) return { status: live.status, headers: [], body: undefined }
    const captured = await capture(live, maxResponseBytes)
    live = captured.live
    return captured.reply
  })
  return answer === 'own' ? (live ?? new Response(null, { status: 500 })) : responseOf(answer)
}

function responseOf({ status, headers, body }: Exclude<Answer, 'own'>): Response {
  const hasBody = body.length > 0 && status !== 204 && status !== 205 && status !== 304
  return new Response(hasBody ? new Uint8Array(body) : null, {
    status,
    headers: headers.map(([name, value]) => [name, value]),
  })
}

/** `undefined`: larger than `most`; what is left is cancelled. */
async function wholeBody(body: ReadableStream<Uint8Array> | null, most: number): Promise<Uint8Array | undefined> {
  const { chunks, rest } = await upTo(body, most)
  if (rest === undefined) return Buffer.concat(chunks)
  void rest.cancel().catch(() => {})
  return undefined
}

/** Reads a response up to `most` bytes. `live` is the whole of it, for its caller. */
async function capture(response: Response, most: number): Promise<{ readonly live: Response; readonly reply: Reply }> {
  const headers = [...response.headers].map(([name, value]) => [name.toLowerCase(), value] as const)
  const { status, statusText } = response
  const { chunks, rest } = await upTo(response.body, most)
  const about = { status, statusText, headers: response.headers }
  if (rest === undefined) {
    const body = Buffer.concat(chunks)
    const live = new Response(response.body === null ? null : new Uint8Array(body), about)
    return { live, reply: { status, headers, body } }
  }
  return { live: new Response(streamOf(chunks, rest), about), reply: { status, headers, body: undefined } }
}

interface Read {
  readonly chunks: Uint8Array[]
  /** Set if there is more. */
  readonly rest: ReadableStreamDefaultReader<Uint8Array> | undefined
}

async function upTo(body: ReadableStream<Uint8Array> | null, most: number): Promise<Read> {
  const chunks: Uint8Array[] = []
  if (body === null) return { chunks, rest: undefined }
  const reader = body.getReader()
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return { chunks, rest: undefined }
    chunks.push(value)
    bytes += value.length
    if (bytes > most) return { chunks, rest: reader }
  }
}

function streamOf(chunks: readonly Uint8Array[], rest: ReadableStreamDefaultReader<Uint8Array>): ReadableStream {
  const first = chunks.values()
  return new ReadableStream({
    async pull(controller) {
      const next = first.next()
      if (next.done !== true) return controller.enqueue(next.value)
      const { done, value } = await rest.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => rest.cancel(reason),
  })
}
