import { keepClaim } from './claims.ts'
import type { Answer, Facts, Guard } from './guard.ts'
import { isMultipart, type BodyRead } from './parsed-body.ts'
import { MOST_HELD_BYTES, tooLargeToHold, type Reply } from './reply.ts'

/** What is used of a context of Hono. */
export interface HonoContextLike<R = Request> {
  readonly req: { readonly raw: R }
  // Hono's own setter takes both.
  get res(): Response
  set res(response: Response | undefined)
}

export type FetchWrapper<R> = (
  handler: (request: R & Request) => Response | Promise<Response>,
) => (request: R & Request) => Promise<Response>

export type HonoMiddleware<R> = (context: HonoContextLike<R & Request>, next: () => Promise<void>) => Promise<void>

export function fetchHandler<R>(guard: Guard<R>): FetchWrapper<R> {
  return (handler) => (request) =>
    answerFetch(guard, request, (claim) => {
      keepClaim(request, claim)
      return handler(request)
    })
}

export function hono<R>(guard: Guard<R>): HonoMiddleware<R> {
  return async (context, next) => {
    const response = await answerFetch(guard, context.req.raw, async (claim) => {
      keepClaim(context, claim)
      await next()
      return context.res
    })
    // Hono merges the headers of the response that was set before.
    context.res = undefined
    context.res = response
  }
}

/** Handles one request of the fetch form. */
async function answerFetch<R>(
  guard: Guard<R>,
  request: R & Request,
  handle: (context: object | undefined) => Response | Promise<Response>,
): Promise<Response> {
  const { maxBodyBytes, maxResponseBytes } = guard.settings
  let live: Response | undefined
  const { method, url } = request
  const { pathname, search } = new URL(url)
  const facts: Facts<R> = {
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

const ADVICE = 'give the option fingerprint, or let nobody read the body before'

/** Reads a copy; what is left of one that is too large is cancelled. */
async function bytesOfRequest(request: Request, most: number): Promise<BodyRead> {
  if (request.bodyUsed) return { kind: 'unseen', why: 'it was read before', advice: ADVICE }
  if (request.body !== null && isMultipart(request.headers.get('content-type') ?? '')) {
    return { kind: 'unseen', why: 'it is multipart, and has another boundary each time it is sent', advice: ADVICE }
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
