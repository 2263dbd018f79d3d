import { OutcomeUnknownError } from '../../src/internal.ts'

/** So many bytes of an answer are held in memory until its key is marked: no route of JSON comes near it. */
export const MOST_HELD_BYTES: number = 64 * 1024 * 1024

/** The handler has not ended, and nothing says what it has done. */
export function tooLargeToHold(): OutcomeUnknownError {
  const text = `the response is over ${MOST_HELD_BYTES / 1024 / 1024} MiB before its end, and is held until its key is marked`
  return new OutcomeUnknownError(`${text}: leave a route of large files or endless events outside`)
}

/** A response with its whole body. */
export interface Reply {
  readonly status: number
  /** Lower-case names. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** `undefined`: larger than what is kept. */
  readonly body: Uint8Array | undefined
}

/** As it is kept: text where the body is UTF-8, else base64. */
interface Kept {
  readonly status: number
  readonly headers: Reply['headers']
  readonly text?: string
  readonly base64?: string
}

/** In bytes of JSON, where a control character is six. The base64 of the largest body is no larger. */
const LARGEST_TEXT = 700 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Keeps only these headers. */
export function keptReply({ status, headers, body }: Reply, names: ReadonlySet<string>): Kept {
  const kept = { status, headers: headers.filter(([name]) => names.has(name)) }
  if (body === undefined) return kept
  const text = utf8In(body)
  if (text !== undefined && Buffer.byteLength(JSON.stringify(text)) <= LARGEST_TEXT) return { ...kept, text }
  return { ...kept, base64: Buffer.from(body).toString('base64') }
}

function utf8In(body: Uint8Array): string | undefined {
  try {
    return utf8.decode(body)
  } catch {
    return undefined
  }
}

export function replyIn(kept: unknown): Reply {
  const { status, headers, text, base64 } = kept as Kept
  if (base64 !== undefined) return { status, headers, body: Buffer.from(base64, 'base64') }
  return { status, headers, body: text === undefined ? undefined : Buffer.from(text) }
}

/** A problem of RFC 9457. `code` is for programs. */
export function problem(
  status: number,
  code: string,
  detail: string,
  headers: Reply['headers'] = [],
): Reply & { readonly body: Uint8Array } {
  const body = { type: 'about:blank', title: TITLES[status], status, code, detail }
  return {
    status,
    headers: [['content-type', 'application/problem+json'], ['cache-control', 'no-store'], ...headers],
    body: Buffer.from(JSON.stringify(body)),
  }
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}
