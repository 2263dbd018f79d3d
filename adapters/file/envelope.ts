import { isUtf8 } from 'node:buffer'

/** One message of a file, as `kcat -J` prints it, with further fields of this library. */
export interface Envelope {
  readonly topic: string | undefined
  readonly partition: number | undefined
  readonly offset: number | undefined
  readonly queue: string | undefined
  readonly exchange: string | undefined
  readonly routingKey: string | undefined
  /** Properties of a RabbitMQ message, by their names in amqplib. */
  readonly properties: Readonly<Record<string, unknown>>
  /** Milliseconds since 1970. */
  readonly timestamp: number | undefined
  /** The broker set the timestamp. */
  readonly isBrokersTime: boolean
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly (readonly [name: string, value: string | Buffer])[]
  /** Text of the payload holds U+FFFD, which stands for bytes that were lost when the line was written. */
  readonly isDamaged: boolean
}

/**
 * Parses one line. Its errors name a field and never quote a value.
 *
 * @throws TypeError
 */
export function parseEnvelope(line: Buffer): Envelope {
  const isText = isUtf8(line)
  const fields = objectIn(line.toString('utf8'))
  const { partition, offset, tstype, ts, properties } = fields
  return {
    topic: textField(fields, 'topic'),
    partition: wholeNumber(partition),
    offset: wholeNumber(offset),
    queue: textField(fields, 'queue'),
    exchange: textField(fields, 'exchange'),
    routingKey: textField(fields, 'routing_key'),
    properties: isTable(properties) ? properties : {},
    timestamp: wholeNumber(ts),
    isBrokersTime: tstype === 'logappend',
    key: bytesOf(fields, 'key'),
    value: bytesOf(fields, 'payload'),
    headers: headersIn(fields, isText),
    isDamaged: typeof fields['payload_base64'] !== 'string' && String(fields['payload']).includes('\uFFFD'),
  }
}

/** The error of the engine quotes the text, which may be a payload. */
function objectIn(text: string): Readonly<Record<string, unknown>> {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw new TypeError('not JSON')
  }
  if (!isTable(parsed)) throw new TypeError('not a JSON object')
  return parsed
}

function textField(fields: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  throw new TypeError(`${name}: expected text, got ${typeof value}`)
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

function bytesOf(fields: Readonly<Record<string, unknown>>, name: 'payload' | 'key'): Buffer | null {
  const base64 = fields[`${name}_base64`]
  if (typeof base64 === 'string') return base64Bytes(base64, `${name}_base64`)
  const text = fields[name]
  if (text === null || text === undefined) return null
  if (typeof text === 'string') return Buffer.from(text)
  throw new TypeError(`${name}: expected text or null, got ${typeof text}`)
}

function base64Bytes(text: string, name: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')) return bytes
  throw new TypeError(`${name}: not base64`)
}

/** `headers_base64`, or else `headers`. */
function headersIn(fields: Readonly<Record<string, unknown>>, isText: boolean): Envelope['headers'] {
  const encoded = fields['headers_base64']
  if (encoded !== undefined) {
    return pairsIn(encoded, 'headers_base64').map(([name, value]) => [name, base64Bytes(value, 'headers_base64')])
  }
  const pairs = pairsIn(fields['headers'], 'headers')
  for (const [name, value] of pairs) checkHeader(name, value, isText)
  return pairs
}

/** An alternating array, or in newer builds of kcat a map of arrays. A null value becomes an empty one. */
function pairsIn(headers: unknown, field: string): (readonly [string, string])[] {
  if (headers === null || headers === undefined) return []
  const pairs: (readonly [string, string])[] = []
  if (Array.isArray(headers)) {
    if (headers.length % 2 !== 0) throw new TypeError(`${field}: expected names and values in turn`)
    for (let at = 0; at < headers.length; at += 2) {
      pairs.push([headerText(headers[at], field), headerText(headers[at + 1], field)])
    }
    return pairs
  }
  if (typeof headers !== 'object') throw new TypeError(`${field}: expected an array or an object`)
  for (const [name, values] of Object.entries(headers)) {
    for (const value of Array.isArray(values) ? values : [values]) pairs.push([name, headerText(value, field)])
  }
  return pairs
}

function headerText(value: unknown, field: string): string {
  if (value === null) return ''
  if (typeof value === 'string') return value
  throw new TypeError(`${field}: expected text or null, got ${typeof value}`)
}

/** Two IDs whose bytes were lost when the file was written must not become equal. */
function checkHeader(name: string, text: string, isText: boolean): void {
  if (!text.isWellFormed() || !name.isWellFormed()) throw new TypeError('headers: a lone surrogate has no bytes')
  if (!isText && `${name}${text}`.includes('\uFFFD')) throw new TypeError('headers: bytes that are not UTF-8')
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
