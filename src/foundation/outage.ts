import { NoEffectError, TerminalError, hasCode } from './errors.ts'

/** Codes of Node, undici and axios for a request without an answer. Those of the operating system come with `syscall`. */
const NO_ANSWER =
  /^(?:E(?:CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|PIPE|NOTFOUND|AI_AGAIN|AI_FAIL|HOSTUNREACH|HOSTDOWN|NETUNREACH|NETDOWN|NETRESET|MFILE|NFILE)|ERR_NETWORK|UND_ERR_.*)$/

/** The certificate of a server is refused. */
const UNTRUSTED =
  /^(?:CERT_.*|ERR_TLS_.*|ERR_SSL_.*|UNABLE_TO_.*|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN)$/

/** Besides 500 and above: time-outs, too many requests, and credentials that are wrong or have expired. */
const NOT_NOW: ReadonlySet<unknown> = new Set([401, 403, 407, 408, 425, 429])

/**
 * The client of kafkajs for a schema registry reports a request without an answer as status 400 with the text of the
 * error. A registry itself answers with JSON, whose message stands there instead.
 */
const NO_ANSWER_OF_MAPPERSMITH = /Error, status 400: /

const DEEPEST = 5

/**
 * True if this error of a function that reads a payload says that a server does not answer, or not now, and nothing
 * about the payload: another attempt may succeed. The user's own word counts first: `NoEffectError` means so,
 * `TerminalError` does not. Never throws.
 */
export function isOutage(error: unknown, depth: number = 0): boolean {
  try {
    if (typeof error !== 'object' || error === null || depth > DEEPEST) return false
    if (error instanceof TerminalError || hasCode(error, 'TERMINAL')) return false
    if (error instanceof NoEffectError || hasCode(error, 'NO_EFFECT')) return true
    const given: AnyError = error
    return saysSo(given) || [given.cause, ...errorsIn(given)].some((inner) => isOutage(inner, depth + 1))
  } catch {
    // A thrown proxy may throw here.
    return false
  }
}

/** The errors of clients, as far as they are alike. */
interface AnyError {
  readonly name?: unknown
  readonly message?: unknown
  readonly code?: unknown
  readonly syscall?: unknown
  readonly status?: unknown
  readonly statusCode?: unknown
  readonly response?: { readonly status?: unknown } | null
  readonly cause?: unknown
  readonly errors?: unknown
}

function saysSo({ name, message, code, syscall, status, statusCode, response }: AnyError): boolean {
  if (name === 'AbortError' || name === 'TimeoutError') return true
  // An error of the operating system: of a socket, a name or a file, never of bytes that are there.
  if (typeof syscall === 'string') return true
  if (typeof code === 'string' && (NO_ANSWER.test(code) || UNTRUSTED.test(code))) return true
  if (name === 'ResponseError' && status === 400 && NO_ANSWER_OF_MAPPERSMITH.test(String(message))) return true
  return [status, statusCode, response?.status].some(isNotNow)
}

function isNotNow(status: unknown): boolean {
  return typeof status === 'number' && (status >= 500 || NOT_NOW.has(status)) && status < 600
}

function errorsIn({ errors }: AnyError): readonly unknown[] {
  return Array.isArray(errors) ? errors : []
}
