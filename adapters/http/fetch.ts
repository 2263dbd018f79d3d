import { Guard, type Answer, type Facts } from './guard.ts'
import { settingsOf, type IdempotencyContext, type IdempotencyOptions } from './options.ts'
import { isMultipart, type BodyRead } from './parsed-body.ts'
import { MOST_HELD_BYTES, tooLargeToHold, type Reply } from './reply.ts'

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
 * | 415    | `BODY_NOT_COMPARABLE`                                | nothing is known of the body, or it is an upload   |
 * | 422    | `IDEMPOTENCY_KEY_REUSED`                             | the key came with another body, path or method     |
 * | 503    | `NOTHING_COMMITTED`, with `Retry-After`              | an inbox: a deadlock, or a lost connection         |
 * | 503    | `STORE_UNREACHABLE`, with `Retry-After`              |                                                    |
 *
 * The response is held in memory until it is whole, a stream too, and its key is marked: this is the end of the handler.
 * The function that is returned rejects with any error of the handler; the key is then free again.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function idempotent<Tx = never>(
  handler: IdempotentHandler<Tx>,
  options: IdempotencyOptions<Request, Tx>,
): (request: Request) => Promise<Response> {
  const guard = new Guard(settingsOf(options, 'idempotent()'), 'bytes')
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
    body: () => bytesOfRequest(request, maxBodyBytes),
  }
  const answer = await guard.answer(facts, async (context) => {
    live = await handle(context)
    if (context === undefined) return { status: live.status, headers: [], body: undefined }
    const whole = await wholeOf(live)
    live = whole.live
    return { ...whole.reply, body: whole.body.length > maxResponseBytes ? undefined : whole.body }
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

/** Reads a copy; what is left of one that is too large is cancelled. */
async function bytesOfRequest(request: Request, most: number): Promise<BodyRead> {
  if (request.bodyUsed) return { kind: 'unseen', why: 'it was read before' }
  if (request.body !== null && isMultipart(request.headers.get('content-type') ?? '')) {
    return { kind: 'unseen', why: 'it is multipart, and has another boundary each time it is sent' }
  }
  const bytes = await bytesUpTo(most, request.clone())
  return bytes === undefined ? { kind: 'too-large' } : { kind: 'bytes', bytes }
}

/** Reads a response to its end: the handler may still make it, and write to its transaction. */
async function wholeOf(
  response: Response,
): Promise<{ readonly live: Response; readonly reply: Omit<Reply, 'body'>; readonly body: Buffer }> {
  const headers = [...response.headers].map(([name, value]) => [name.toLowerCase(), value] as const)
  const { status, statusText } = response
  const isEmpty = response.body === null
  const body = await bytesUpTo(MOST_HELD_BYTES, response)
  if (body === undefined) throw tooLargeToHold()
  const live = new Response(isEmpty ? null : new Uint8Array(body), { status, statusText, headers: response.headers })
  return { live, reply: { status, headers }, body }
}

/** `undefined`: there are more than `most`; the rest is cancelled. */
async function bytesUpTo(most: number, { body }: Request | Response): Promise<Buffer | undefined> {
  if (body === null) return Buffer.alloc(0)
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return Buffer.concat(chunks)
    chunks.push(value)
    bytes += value.length
    if (bytes <= most) continue
    void reader.cancel().catch(() => {})
    return undefined
  }
}
