import { having, needed, oneOf, optionsOf, or, plainText, where, type Table } from '../../src/foundation/options.ts'
import type { Message } from '../../src/ports/message.ts'

/** A message for a test, by what a producer says of it. */
export interface TestMessage {
  /** Bytes are taken as they are, `null` is a tombstone, and anything else becomes JSON. */
  readonly payload: unknown
  /**
   * Where producers put it: the header `message-id` on Kafka, the property `messageId` on RabbitMQ.
   * @defaultValue none: for consumers that read it from the payload
   */
  readonly id?: string
  /** Kafka's key or the routing key, as text or bytes. @defaultValue none on Kafka, the name of the queue on RabbitMQ */
  readonly key?: Uint8Array | string
  /** Text becomes bytes on Kafka, as its clients deliver it. @defaultValue none */
  readonly headers?: Readonly<Record<string, unknown>>
  /** @defaultValue 'kafka' */
  readonly system?: 'kafka' | 'rabbitmq'
  /** The topic or queue. @defaultValue 'test' */
  readonly destination?: string
}

const BYTES_OR_TEXT = where<Uint8Array | string>(
  'text or bytes',
  (value) => typeof value === 'string' || value instanceof Uint8Array,
)
export const TEST_MESSAGE: Table<TestMessage, 'id' | 'key'> = {
  payload: needed(where('a payload; null for a tombstone', (value) => value !== undefined)),
  id: plainText(),
  key: BYTES_OR_TEXT,
  headers: or({}, having('an object of headers')),
  system: or('kafka', oneOf('kafka', 'rabbitmq')),
  destination: or('test', plainText()),
}

/**
 * A message as the client of a broker delivers it: `runInline(consumer, { group }).handle(testMessage({ payload }))` runs a
 * consumer on it, and resolves with its settlement.
 *
 * @throws ConfigError `CONFIG_INVALID` for an unknown field, or one of another type
 */
export function testMessage(message: TestMessage): Message {
  const { payload, id, key, headers, system, destination } = optionsOf('testMessage', TEST_MESSAGE, message)
  const common = { system, destination, origin: destination, value: bytesOf(payload) }
  if (system === 'rabbitmq') {
    return { ...common, position: '1', key: textBytes(key ?? destination), headers, messageId: id, redelivered: false }
  }
  const named = { ...(id === undefined ? {} : { 'message-id': id }), ...headers }
  const asBytes = Object.entries(named).map(([name, value]) => [
    name,
    typeof value === 'string' ? textBytes(value) : value,
  ])
  return {
    ...common,
    position: '0@0',
    key: key === undefined ? null : textBytes(key),
    headers: Object.fromEntries(asBytes),
  }
}

function bytesOf(payload: unknown): Uint8Array | null {
  return payload === null || payload instanceof Uint8Array ? payload : Buffer.from(JSON.stringify(payload))
}

function textBytes(text: Uint8Array | string): Uint8Array {
  return typeof text === 'string' ? Buffer.from(text) : text
}
