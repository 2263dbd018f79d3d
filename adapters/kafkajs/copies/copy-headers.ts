import type { Message } from '../../../src/index.ts'
import { headerValues } from './headers.ts'
import { isCopy } from './origin.ts'

export type ProducedHeaders = Record<string, Buffer | string | (Buffer | string)[]>

export type HeaderEntry = readonly [name: string, value: ProducedHeaders[string]]

/** The digest that logs, lists and the command-line tool name a message by. */
export const KEY_HEADER = 'x-record-key'

/** What a copy says of its own way here: the next copy says it anew, or not at all. */
const OF_ONE_COPY: ReadonlySet<string> = new Set([
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
 * The headers of a message that every copy keeps, values of any kind. kafkajs cannot send a header without a value, which
 * Kafka allows: it is sent with an empty one.
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

/** Of two entries with one name the later one counts. */
export function toHeaders(...entries: (readonly HeaderEntry[])[]): ProducedHeaders {
  return Object.fromEntries(entries.flat())
}

export function bounded(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text
}

const NONE: ReadonlySet<string> = new Set()
