import { describeError, isConsumeOnceError } from '../../src/foundation/errors.ts'
import { withoutSecrets } from '../../src/foundation/without-secrets.ts'
import type { ApiError } from '../api.ts'

/** Refuses a request. The text is for people. */
export class HttpError extends Error {
  readonly status: number
  readonly code: string
  readonly retryAfterMs: number | undefined

  constructor(status: number, code: string, message: string, retryAfterMs?: number) {
    super(message)
    this.status = status
    this.code = code
    this.retryAfterMs = retryAfterMs
  }
}

export function badRequest(message: string): HttpError {
  return new HttpError(400, 'HTTP_BAD_REQUEST', message)
}

const LONGEST = 2_000

/** Answers any error: a server that does not answer is 503, which the page heals from. No stack and no secret is shown. */
export function apiErrorOf(error: unknown): ApiError['error'] {
  if (error instanceof HttpError) {
    const { status, code, message, retryAfterMs } = error
    return { status, code, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
  }
  const message = cut(withoutSecrets(describeError(error)))
  if (isConsumeOnceError(error)) return { status: statusOf(error.code), code: error.code, message }
  // A mistake of this program; clients of stores and brokers throw errors of their own.
  if (error instanceof TypeError || error instanceof RangeError) {
    return { status: 500, code: 'HTTP_UNEXPECTED', message: `unexpected, please report it: ${message}` }
  }
  return { status: 503, code: 'STORE_UNREACHABLE', message }
}

function statusOf(code: string): number {
  if (code.startsWith('CONFIG')) return 400
  if (code.startsWith('REPLAY') || code === 'STOPPED') return 409
  return 503
}

function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}
