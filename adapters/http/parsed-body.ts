/**
 * The bytes by which the body of two requests is compared. `unseen`: there was a body, and what is known of it would be
 * the same for another one.
 */
export type BodyRead =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'too-large' }
  | {
      readonly kind: 'unseen'
      readonly why: string
      /** How it can be seen. */ readonly advice: string
    }

/** What is used of a request of `node:http` to know whether it has a body, and whether that was read. */
export interface BodyStreamLike {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly httpVersionMajor?: number
  readonly readableEnded?: boolean
  /** Of HTTP/2, where no header tells. */
  readonly stream?: { readonly endAfterHeaders?: boolean } | undefined
}

/** A body, after a framework or its middleware has parsed it. */
export interface ParsedBody {
  readonly stream: BodyStreamLike
  /** The bytes that were parsed, if the parser keeps them. */
  readonly rawBody: unknown
  readonly body: unknown
  /** The parser says that it has parsed this body. */
  readonly isParsed: boolean
}

/** The header `Idempotency-Key`; several values joined by commas. */
export function keyHeader({ headers }: Pick<BodyStreamLike, 'headers'>): string | undefined {
  const header = headers['idempotency-key']
  return typeof header === 'string' || header === undefined ? header : header.join(', ')
}

/** These parsers make an empty value of an empty body too. */
const TYPES_WITH_EMPTY =
  /^\s*(?:[\w.+-]+\/(?:[\w.-]+\+)?json|application\/x-www-form-urlencoded|text\/plain)\s*(?:;|$)/i
/** Far below what JSON.stringify takes. */
const DEEPEST = 1_000
const MULTIPART = /^\s*multipart\//i

/** Each sending of one upload has another boundary, and so other bytes. */
export function isMultipart(contentType: string): boolean {
  return MULTIPART.test(contentType)
}

/** Compared as it was sent, if that is known, else as the parser read it: the handler sees nothing else. */
export function bytesOfParsed({ stream, rawBody, body, isParsed }: ParsedBody, most: number): BodyRead {
  const sent = bytesIn(rawBody)
  if (sent !== undefined && sent.length > 0) return limited(sent, most)
  const type = String(stream.headers['content-type'])
  if (!hasBody(stream)) return body === undefined ? limited(Buffer.alloc(0), most) : comparable(body, most)
  if (body === undefined) return unseen('nothing has read it')
  // Its files are beside the parsed fields, if it was parsed.
  if (isMultipart(type) && bytesIn(body) === undefined) return unseen('it is multipart, and its files are not seen')
  const read = comparable(body, most)
  const mayBeEmpty = isParsed || (stream.readableEnded === true && TYPES_WITH_EMPTY.test(type))
  // Parsers leave an empty object of a body that is not of their content type.
  return read.kind === 'bytes' && isEmpty(body) && !mayBeEmpty ? unseen('nothing has parsed it') : read
}

function hasBody({ headers, httpVersionMajor = 1, stream }: BodyStreamLike): boolean {
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0) return true
  return httpVersionMajor >= 2 && headers['content-length'] === undefined && stream?.endAfterHeaders === false
}

function isEmpty(body: unknown): boolean {
  if (body === null || body === '') return true
  return typeof body === 'object' && Object.keys(body).length === 0 && !Array.isArray(body)
}

function comparable(body: unknown, most: number): BodyRead {
  const bytes = bytesIn(body)
  if (bytes !== undefined) return limited(bytes, most)
  const why = notJson(body)
  return why === undefined ? limited(Buffer.from(JSON.stringify(body)), most) : unseen(why)
}

function bytesIn(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value
  return typeof value === 'string' && value.isWellFormed() ? Buffer.from(value) : undefined
}

/** Says what of a value its JSON would not tell from another one; such as a `Map`, whose JSON is `{}`. */
function notJson(value: unknown, depth = 0): string | undefined {
  if (depth > DEEPEST) return 'it is nested too deeply'
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : `it was parsed to ${value}`
    case 'object':
      return value === null ? undefined : notJsonObject(value, depth + 1)
    case 'undefined':
    case 'bigint':
    case 'function':
    case 'symbol':
      return `it was parsed to a ${typeof value}`
  }
}

function notJsonObject(value: object, depth: number): string | undefined {
  // JSON is made of what this gives.
  const { toJSON } = value as { readonly toJSON?: () => unknown }
  if (typeof toJSON === 'function') return notJson(Reflect.apply(toJSON, value, []), depth)
  const prototype: unknown = Object.getPrototypeOf(value)
  // Those of objects of another realm are not `Object.prototype`.
  const isPlain = Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null
  if (!isPlain) return `it was parsed to a ${value.constructor?.name}`
  for (const part of Object.values(value)) {
    const why = part === undefined ? undefined : notJson(part, depth)
    if (why !== undefined) return why
  }
  return undefined
}

/** Express, Fastify and Nest hand over bodies that others have parsed; fetch and Hono have the bytes. */
function unseen(why: string): BodyRead {
  const advice = 'mount a parser for its content type before, keep its bytes as rawBody, or give the option fingerprint'
  return { kind: 'unseen', why, advice }
}

function limited(bytes: Uint8Array, most: number): BodyRead {
  return bytes.length > most ? { kind: 'too-large' } : { kind: 'bytes', bytes }
}
