import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { parseEnvelope } from '../../adapters/file/index.ts'
import { CommandError, EXIT } from '../exit.ts'
import { exampleData } from './example-data.ts'

type Headers = readonly (readonly [name: string, value: string | Buffer])[]

/** One message of an input file, ready to be produced. */
export interface InputMessage {
  /** The `message-id`, or `undefined` if it is not usable. */
  readonly id: string | undefined
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Headers
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
    if (line.toString('utf8').trim() === '') continue
    try {
      messages.push(messageIn(line, where))
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

function messageIn(line: Buffer, where: string): InputMessage {
  const { key, value, headers, timestamp } = parseEnvelope(line)
  return {
    id: usableId(headers),
    key,
    value,
    headers,
    timestamp,
    payloadSha256: sha256(value ?? Buffer.alloc(0)),
    headerBytes: headers.reduce((sum, [name, text]) => sum + Buffer.byteLength(name) + Buffer.byteLength(text), 0),
    where,
  }
}

/** An independent implementation of the identity rule, to compare with the library's. */
function usableId(headers: Headers): string | undefined {
  const [first, ...others] = headers.filter(([name]) => name === ID_HEADER).map(([, value]) => value.toString())
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
export function headerRecord(pairs: Headers): Record<string, HeaderValue | HeaderValue[]> {
  const record = Object.create(null) as Record<string, HeaderValue | HeaderValue[]>
  for (const [name, text] of pairs) {
    const value = typeof text === 'string' && text.includes('\uFFFD') ? Buffer.from(text) : text
    const known = record[name]
    record[name] = known === undefined ? value : [...(Array.isArray(known) ? known : [known]), value]
  }
  return record
}
