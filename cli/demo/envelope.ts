import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { CommandError, EXIT } from '../exit.ts'
import { exampleData } from './example-data.ts'

/** One message of an input file, ready to be produced. */
export interface InputMessage {
  /** The `message-id`, or `undefined` if it is not usable. */
  readonly id: string | undefined
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly timestamp: number | undefined
  readonly payloadSha256: string
  /** Bytes of all header names and values. */
  readonly headerBytes: number
  /** File and line, for errors. */
  readonly where: string
}

export interface Input {
  readonly messages: readonly InputMessage[]
  /** The bytes of the file and their hash: the state keeps every input. */
  readonly bytes: Buffer
  readonly sha256: string
}

export const ID_HEADER = 'message-id'

/** Longest usable ID, in bytes of UTF-8. */
const MAX_ID_BYTES = 512

/**
 * Reads a whole file of envelopes: `-` is standard input, without a path the SMS example. If one line is invalid,
 * nothing is produced.
 */
export async function readInput(path: string | undefined): Promise<Input> {
  const bytes = path === undefined ? Buffer.from(exampleData()) : await wholeOf(path)
  return { messages: parseInput(bytes, path ?? 'the SMS example'), bytes, sha256: sha256(bytes) }
}

async function wholeOf(path: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of path === '-' ? process.stdin : createReadStream(path))
      chunks.push(Buffer.from(chunk as Buffer))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandError(
      EXIT.usage,
      `cannot read the input ${path}: ${why}. Give a file by --input FILE, or - for standard input.`,
      { cause },
    )
  }
  return Buffer.concat(chunks)
}

/**
 * Parses the lines of an input.
 * @throws CommandError with the number of a line that cannot be read
 */
export function parseInput(bytes: Buffer, path: string): InputMessage[] {
  const messages: InputMessage[] = []
  const startsAt = bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0
  for (const [index, line] of linesOf(bytes.subarray(startsAt)).entries()) {
    const where = `${path}, line ${index + 1}`
    const text = line.toString('utf8')
    if (text.trim() === '') continue
    try {
      messages.push(parseEnvelope(JSON.parse(text), isUtf8(line), where))
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new CommandError(
        EXIT.usage,
        `${where}: ${why}. Expected one JSON object a line, as \`kcat -J\` prints it. Nothing was produced.`,
        { cause },
      )
    }
  }
  return messages
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = []
  let from = 0
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
    lines.push(bytes.subarray(from, end))
    from = end + 1
  }
  lines.push(bytes.subarray(from))
  return lines
}

/** The envelope that `kcat -J` prints, plus `payload_base64` and `key_base64` for bytes that are not UTF-8. */
function parseEnvelope(envelope: unknown, isText: boolean, where: string): InputMessage {
  if (typeof envelope !== 'object' || envelope === null || Array.isArray(envelope))
    throw new TypeError('not a JSON object')
  const fields = envelope as Record<string, unknown>
  const value = bytesOf(fields, 'payload')
  const headers = headersOf(fields['headers'])
  for (const [name, text] of headers) checkHeader(name, text, isText)
  const ts = fields['ts']
  return {
    id: usableId(headers),
    key: bytesOf(fields, 'key'),
    value,
    headers,
    timestamp: typeof ts === 'number' && Number.isSafeInteger(ts) && ts >= 0 ? ts : undefined,
    payloadSha256: sha256(value ?? Buffer.alloc(0)),
    headerBytes: headers.reduce((sum, [name, text]) => sum + Buffer.byteLength(name) + Buffer.byteLength(text), 0),
    where,
  }
}

/** Two IDs whose bytes were lost when the file was written must not become equal. */
function checkHeader(name: string, text: string, isText: boolean): void {
  if (!text.isWellFormed() || !name.isWellFormed()) throw new TypeError(`header ${name}: a lone surrogate has no bytes`)
  if (!isText && `${name}${text}`.includes('\uFFFD')) throw new TypeError(`header ${name}: its bytes are not UTF-8`)
}

function bytesOf(fields: Record<string, unknown>, name: 'payload' | 'key'): Buffer | null {
  const base64 = fields[`${name}_base64`]
  if (typeof base64 === 'string') {
    const bytes = Buffer.from(base64, 'base64')
    if (bytes.toString('base64').replace(/=+$/, '') === base64.replace(/=+$/, '')) return bytes
    throw new TypeError(`${name}_base64: not base64`)
  }
  const text = fields[name]
  if (text === null || text === undefined) return null
  if (typeof text === 'string') return Buffer.from(text)
  throw new TypeError(`${name}: expected text or null, got ${JSON.stringify(text).slice(0, 40)}`)
}

/** An alternating array, or in newer builds of kcat a map of arrays. A null value becomes an empty one. */
function headersOf(headers: unknown): (readonly [string, string])[] {
  if (headers === null || headers === undefined) return []
  const pairs: (readonly [string, string])[] = []
  if (Array.isArray(headers)) {
    if (headers.length % 2 !== 0) throw new TypeError('headers: expected names and values in turn')
    for (let at = 0; at < headers.length; at += 2) pairs.push([headerText(headers[at]), headerText(headers[at + 1])])
    return pairs
  }
  if (typeof headers !== 'object') throw new TypeError('headers: expected an array or an object')
  for (const [name, values] of Object.entries(headers)) {
    for (const value of Array.isArray(values) ? values : [values]) pairs.push([name, headerText(value)])
  }
  return pairs
}

function headerText(value: unknown): string {
  if (value === null) return ''
  if (typeof value === 'string') return value
  throw new TypeError(`headers: expected text or null, got ${JSON.stringify(value).slice(0, 40)}`)
}

/** An independent implementation of the identity rule, to compare with the library's. */
function usableId(headers: readonly (readonly [string, string])[]): string | undefined {
  const [first, ...others] = headers.filter(([name]) => name === ID_HEADER).map(([, value]) => value)
  if (first === undefined || first.trim() === '' || Buffer.byteLength(first) > MAX_ID_BYTES) return undefined
  return others.every((other) => other === first) ? first : undefined
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

type HeaderValue = string | Buffer

/**
 * Headers in the form that every client takes: text, an array if a name is repeated, and `__proto__` as an ordinary
 * name. A text with a replacement character is sent as bytes: read back as text, it could not be distinguished from
 * invalid bytes.
 */
export function headerRecord(
  pairs: readonly (readonly [string, string])[],
): Record<string, HeaderValue | HeaderValue[]> {
  const record = Object.create(null) as Record<string, HeaderValue | HeaderValue[]>
  for (const [name, text] of pairs) {
    const value = text.includes('\uFFFD') ? Buffer.from(text) : text
    const known = record[name]
    record[name] = known === undefined ? value : [...(Array.isArray(known) ? known : [known]), value]
  }
  return record
}
