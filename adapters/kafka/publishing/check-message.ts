import {
  ELSEWHERE,
  isTopicName,
  judged,
  needed,
  optionsOf,
  where,
  whole,
  whyUnusable,
  WHY_UNUSABLE,
  type Rule,
  type Table,
} from '../../../src/internal.ts'
import type { SentMessage } from '../client.ts'

/** A message with an ID that is the same each time it is sent. */
export interface IdentifiedMessage {
  readonly topic: string
  /**
   * 1 to 512 bytes of valid Unicode, sent in the header `message-id`. Must be the same each time this message is sent, so
   * that consumers can recognise it.
   */
  readonly messageId: string
  /** Text is sent as UTF-8. `null`: a tombstone. */
  readonly value: Uint8Array | string | null
  /**
   * Messages with the same key go to one partition, the one that Kafka's own producers choose too.
   * @defaultValue none: the partitions take turns
   */
  readonly key?: Uint8Array | string | null
  readonly headers?: Readonly<Record<string, HeaderOf>>
  /** @defaultValue chosen by the key */
  readonly partition?: number
}

type HeaderOf = Uint8Array | string | readonly (Uint8Array | string)[]

const ID_HEADER = 'message-id'

const isBytesOrText = (value: unknown): boolean => typeof value === 'string' || value instanceof Uint8Array
const AS_TEXT = { got: (value: unknown) => `${typeof value}; JSON.stringify() makes text of other values` }
const BYTES_OR_NULL: Rule<Uint8Array | string | null> = where(
  'bytes, text or null',
  (value) => value === null || isBytesOrText(value),
  AS_TEXT,
)

const MESSAGE: Table<IdentifiedMessage, 'key' | 'headers' | 'partition'> = {
  topic: needed(where('the name of a topic', isTopicName)),
  messageId: needed(judged('text of 1 to 512 bytes', whyNoId)),
  value: needed(BYTES_OR_NULL),
  key: BYTES_OR_NULL,
  headers: judged('an object of headers', whyNoHeaders),
  partition: whole({ least: 0 }),
  [ELSEWHERE]: {
    body: 'give it as value',
    content: 'give it as value',
    routingKey: 'give the topic as topic, and the key as key',
    messages: 'call publish() once for each message, and await them together',
    acks: 'leave it out: all in-sync replicas confirm each message',
  },
}

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function checkMessage(message: IdentifiedMessage): void {
  optionsOf('publish', MESSAGE, message)
}

function whyNoId(id: unknown): string | undefined {
  const unusable = typeof id === 'string' ? whyUnusable(id) : undefined
  if (typeof id === 'string' && unusable === undefined) return undefined
  const got = unusable === undefined ? typeof id : WHY_UNUSABLE[unusable]
  return `expected text of 1 to 512 bytes, got ${got}; give the message an ID of its own that stays the same when it is sent again`
}

function whyNoHeaders(headers: unknown): string | undefined {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    return `expected an object of headers, got ${headers === null ? 'null' : typeof headers}`
  }
  if (Object.hasOwn(headers, ID_HEADER)) return `expected none named ${ID_HEADER}: give it as messageId`
  const wrong = Object.entries(headers).find(([, value]) => ![value].flat().every(isBytesOrText))
  return wrong && `expected bytes, text or a list of them, got another value in ${JSON.stringify(wrong[0])}`
}

/** As it is sent to a partition. */
export function sentMessage(message: IdentifiedMessage, partition: number): SentMessage {
  const { key, value, headers = {}, messageId } = message
  const sent = Object.entries(headers).map(([name, given]): readonly [string, SentMessage['headers'][string]] => [
    name,
    isList(given) ? given.map(bytesOf) : bytesOf(given),
  ])
  return {
    key: bytesOrNull(key),
    value: bytesOrNull(value),
    headers: Object.fromEntries([...sent, [ID_HEADER, bytesOf(messageId)]]),
    partition,
  }
}

export function bytesOrNull(value: Uint8Array | string | null | undefined): Buffer | null {
  return value === null || value === undefined ? null : bytesOf(value)
}

function isList(header: HeaderOf): header is readonly (Uint8Array | string)[] {
  return Array.isArray(header)
}

/** A copy: what the caller does to its bytes later does not matter. */
function bytesOf(value: Uint8Array | string): Buffer {
  return Buffer.from(value)
}
