import type { DeadLetter, Message } from '../../src/index.ts'
import { ORIGIN_HEADER } from './delivery.ts'
import { headerText, headerValues } from './headers.ts'

export type ProducedHeaders = Record<string, Buffer | string | (Buffer | string)[]>

const MAX_TEXT = 1_024

type Entry = readonly [name: string, value: ProducedHeaders[string]]

/** The original's headers as they are, and where it comes from, why it is here, and after how many attempts. */
export function deadLetterHeaders(letter: DeadLetter, at: Date): ProducedHeaders {
  const { message, consumer, detail, errorClass } = letter
  const explanation: Entry[] = [
    ['x-consumer', bounded(consumer)],
    ['x-error-message', bounded(detail)],
    ...(errorClass === undefined ? [] : [['x-error-class', bounded(errorClass)] as const]),
  ]
  return Object.fromEntries([...kept(message, () => true), ...necessary(letter, at), ...explanation])
}

/** What a copy cannot do without, for a message that is too large with all of them. */
export function minimalHeaders(letter: DeadLetter, at: Date): ProducedHeaders {
  return Object.fromEntries([...kept(letter.message, (name) => name === 'traceparent'), ...necessary(letter, at)])
}

function necessary({ message, reason, parked, attempts, group }: DeadLetter, at: Date): readonly Entry[] {
  return [
    ...originOf(message),
    ['x-dead-letter-reason', bounded(reason)],
    ...(parked ? [['x-parked', 'true'] as const] : []),
    ['x-dead-lettered-at', at.toISOString()],
    ['x-attempts', String(attempts)],
    ['x-consumer-group', bounded(group)],
  ]
}

/** A message that is itself a copy keeps the coordinates of the first. */
function originOf(message: Message): readonly Entry[] {
  const isCopy = headerText(message.headers, ORIGIN_HEADER) === message.origin
  if (isCopy) return kept(message, (name) => name.startsWith('x-original-'))
  const [partition = '', offset = ''] = message.position.split('@')
  return [
    [ORIGIN_HEADER, message.origin],
    ['x-original-partition', partition],
    ['x-original-offset', offset],
    ...(message.timestamp === undefined ? [] : [['x-original-timestamp', String(message.timestamp)] as const]),
    ['x-original-key-present', String(message.key !== null)],
  ]
}

/** kafkajs cannot send a header without a value, which Kafka allows: it is sent with an empty one. */
function kept({ headers }: Message, which: (name: string) => boolean): readonly Entry[] {
  return Object.keys(headers)
    .filter(which)
    .flatMap((name): readonly Entry[] => {
      const values = headerValues(headers, name).map((value) => value ?? Buffer.alloc(0))
      const [first] = values
      return first === undefined ? [] : [[name, values.length === 1 ? first : values]]
    })
}

function bounded(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text
}
