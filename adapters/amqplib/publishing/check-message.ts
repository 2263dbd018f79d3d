import { ELSEWHERE, having, judged, needed, optionsOf, where, type Rule, type Table } from '../../../src/internal.ts'
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

const OF_QUEUE = 'the name of a queue is the routingKey, on the default exchange'

/** For fields that are properties of a message in amqplib. */
const IN_PROPERTIES = 'give it inside of properties'
const BY = (what: string): Rule<string> =>
  where('text', (value) => typeof value === 'string', {
    got: (value) => `${typeof value}; ${what}`,
  })

const MESSAGE: Table<IdentifiedMessage, 'exchange' | 'headers' | 'properties'> = {
  exchange: BY('left out, it is the default exchange'),
  routingKey: needed(BY(OF_QUEUE)),
  messageId: needed(judged('text of 1 to 255 bytes', (id) => whyNoId(id))),
  body: needed(
    where('bytes or text', (body) => typeof body === 'string' || body instanceof Uint8Array, {
      got: (body) => `${typeof body}; JSON.stringify() makes text of other values`,
    }),
  ),
  headers: having('an object of headers'),
  properties: having('an object of properties'),
  [ELSEWHERE]: {
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
  },
}

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function checkMessage(message: IdentifiedMessage): void {
  optionsOf('publish', MESSAGE, message)
}

const MOST_ID_BYTES = 255

/** amqplib decodes invalid UTF-8 to U+FFFD, so different IDs would become equal. */
function whyNoId(id: unknown): string | undefined {
  const why = unusable(id)
  return why === undefined
    ? undefined
    : `expected text of 1 to ${MOST_ID_BYTES} bytes without U+FFFD or a lone surrogate, got ${why}; give the message an ID of its own that stays the same when it is sent again`
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
