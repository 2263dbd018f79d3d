import type { Guard, Facts, Refused } from './guard.ts'
import { HeldResponse, type ResponseLike } from './held.ts'

/** How a framework goes on with a request whose response may be held. */
export interface Flow {
  /** The handler runs, under the claim if there is one. */
  readonly handle: (claim: object | undefined) => void
  /** Answers in place of the handler. `hasRun`: it has run, and its answer is dropped. */
  readonly answer: (answer: Refused, hasRun: boolean) => void
  /** `isGivenUp`: the framework was told of a failure after the answer, and has closed the connection, as it believes. */
  readonly fail: (error: unknown, hasRun: boolean, isGivenUp: boolean) => void
}

/** Answers one request of a framework that writes to a response of node, and holds what its handler answers. */
export async function holdResponse<R>(
  guard: Guard<R>,
  facts: Facts<R>,
  { request, response }: { readonly request: object; readonly response: ResponseLike },
  flow: Flow,
): Promise<void> {
  let held: HeldResponse | undefined
  try {
    const answer = await guard.answer(facts, async (claim) => {
      if (claim === undefined) {
        flow.handle(undefined)
        return { status: 0, headers: [], body: undefined }
      }
      held = new HeldResponse(request, response, guard.settings.maxResponseBytes)
      flow.handle(claim)
      return held.reply
    })
    if (answer === 'own') return held?.send()
    held?.drop()
    flow.answer(answer, held !== undefined)
  } catch (error) {
    held?.drop()
    flow.fail(error, held !== undefined, held?.isLast === true)
  }
}

/** Answers with `response`, which has sent nothing. */
export function sendOn(response: ResponseLike, { status, headers, body }: Refused): void {
  if (response.headersSent) return
  const names = Object.keys(response.getHeaders())
  // node sends in chunks what had its length removed.
  if (names.includes('content-length')) response.setHeader('content-length', String(body.length))
  for (const name of ABOUT_BODY) if (names.includes(name)) response.removeHeader(name)
  response.statusCode = status
  for (const [name, value] of headers) response.setHeader(name, value)
  response.end(body)
}

/** Headers of the answer that is not sent, beside its length. */
export const ABOUT_BODY: readonly string[] = [
  'content-type',
  'content-encoding',
  'content-language',
  'content-disposition',
]
