import { checkNames, withoutUndefined } from '../../../src/spi.ts'
import type { OutgoingMessage } from './confirm-channel.ts'

/** A message with an ID that is the same each time it is sent. */
export interface IdentifiedMessage extends Pick<OutgoingMessage, 'exchange' | 'routingKey' | 'headers' | 'properties'> {
  /**
   * 1 to 255 bytes of valid Unicode. Must be the same each time this message is sent, so that consumers can recognise
   * it.
   */
  readonly messageId: string
  /** Text is sent as UTF-8. */
  readonly body: Uint8Array | string
}

const KNOWN: Readonly<Record<keyof IdentifiedMessage, true>> = {
  exchange: true,
  routingKey: true,
  messageId: true,
  body: true,
  headers: true,
  properties: true,
}

const OF_QUEUE = 'the name of a queue is the routingKey, on the default exchange'

/** For fields that are properties of a message in amqplib. */
const IN_PROPERTIES = 'give it inside of properties'
const MISPLACED: Readonly<Record<string, string>> = {
  queue: `give it as routingKey: ${OF_QUEUE}`,
  content: 'give it as body',
  contentType: IN_PROPERTIES,
  contentEncoding: IN_PROPERTIES,
  correlationId: IN_PROPERTIES,
  replyTo: IN_PROPERTIES,
  priority: IN_PROPERTIES,
  timestamp: IN_PROPERTIES,
  type: IN_PROPERTIES,
  appId: IN_PROPERTIES,
}

/** @throws TypeError with all problems of names and place, or that of the message ID */
export function checkMessage(message: IdentifiedMessage): void {
  if (typeof message !== 'object' || message === null) {
    throw new TypeError(`publish: expected { routingKey, messageId, body }, got ${typeof message}`)
  }
  const { exchange, routingKey, messageId } = message as { readonly [Name in keyof IdentifiedMessage]?: unknown }
  const problems: string[] = []
  checkNames('', withoutUndefined(message), { of: 'publish()', known: KNOWN, misplaced: MISPLACED }, problems)
  if (typeof routingKey !== 'string') {
    problems.push(`routingKey: expected text, got ${typeof routingKey}; ${OF_QUEUE}`)
  }
  if (exchange !== undefined && typeof exchange !== 'string') {
    problems.push(`exchange: expected text, got ${typeof exchange}; left out, it is the default exchange`)
  }
  if (problems.length > 0) throw new TypeError(`publish: ${problems.join('; ')}`)
  checkMessageId(messageId)
}

const MOST_ID_BYTES = 255

/** amqplib decodes invalid UTF-8 to U+FFFD, so different IDs would become equal. */
function checkMessageId(id: unknown): void {
  const why = unusable(id)
  if (why === undefined) return
  throw new TypeError(
    `messageId: expected text of 1 to ${MOST_ID_BYTES} bytes without U+FFFD or a lone surrogate, got ${why}; give the message an ID of its own that stays the same when it is sent again`,
  )
}

function unusable(id: unknown): string | undefined {
  if (typeof id !== 'string') return typeof id
  if (id.trim() === '') return 'blank text'
  const bytes = Buffer.from(id)
  if (bytes.length > MOST_ID_BYTES) return `${bytes.length} bytes`
  // A lone surrogate becomes U+FFFD too.
  return bytes.toString().includes('\uFFFD') ? 'text with such a character' : undefined
}

export function bytesOf(body: unknown): Uint8Array {
  if (typeof body === 'string') return Buffer.from(body)
  if (body instanceof Uint8Array) return body
  throw new TypeError(`body: expected bytes or text, got ${typeof body}; JSON.stringify() makes text of other values`)
}
