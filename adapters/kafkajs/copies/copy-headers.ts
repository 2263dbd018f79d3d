import type { Message } from '../../../src/spi.ts'
import { headerValues, type HeaderEntry, type ProducedHeaders } from './headers.ts'
import { isCopy } from './origin.ts'

/** The key of the message, as in logs, lists and the command-line tool. */
export const KEY_HEADER = 'x-record-key'

/** Headers about one copy only: the next copy replaces them or leaves them out. */
export const OF_ONE_COPY: ReadonlySet<string> = new Set([
  KEY_HEADER,
  'x-dead-letter-reason',
  'x-parked',
  'x-dead-lettered-at',
  'x-set-aside-at',
  'x-attempts',
  'x-not-before',
  'x-consumer',
  'x-consumer-group',
  'x-error-class',
  'x-error-message',
  'kafka_dlt-exception-fqcn',
  'kafka_dlt-exception-message',
])

const MAX_TEXT = 1_024

/**
 * The headers of a message that every copy keeps, values of any kind. Kafka allows a header without a value, but
 * kafkajs cannot send it: it becomes an empty one.
 */
export function keptHeaders(message: Message): readonly HeaderEntry[] {
  const isOver = isCopy(message) ? OF_ONE_COPY : NONE
  return Object.keys(message.headers)
    .filter((name) => !isOver.has(name))
    .flatMap((name): readonly HeaderEntry[] => {
      const values = headerValues(message.headers, name).map((value) => value ?? Buffer.alloc(0))
      const [first] = values
      return first === undefined ? [] : [[name, values.length === 1 ? first : values]]
    })
}

/** If two entries have the same name, the later one wins. */
export function toHeaders(...entries: (readonly HeaderEntry[])[]): ProducedHeaders {
  return Object.fromEntries(entries.flat())
}

export function bounded(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text
}

const NONE: ReadonlySet<string> = new Set()
