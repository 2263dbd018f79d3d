import { COPY_HEADER, describesCopy, type Message, type MessageCopy } from '../../../src/internal.ts'
import { headerValues, type HeaderEntry, type ProducedHeaders } from './headers.ts'
import { hasSpringHeaders, isSpringHeader } from './origin.ts'

/**
 * The headers of a message that every copy keeps, values of any kind: all but those of an earlier copy. Kafka allows a
 * header without a value, but kafkajs cannot send it: it becomes an empty one.
 */
export function keptHeaders(message: Message): readonly HeaderEntry[] {
  const hasSpring = hasSpringHeaders(message)
  return Object.keys(message.headers)
    .filter((name) => !describesCopy(name) && !(hasSpring && isSpringHeader(name)))
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

/** Names the message, and how often it was tried. */
export function identification({ key, attempts, message }: MessageCopy): readonly HeaderEntry[] {
  return [
    [COPY_HEADER.originKeyPresent, String(message.key !== null)],
    ...(key === undefined ? [] : [[COPY_HEADER.key, key] as const]),
    [COPY_HEADER.attempts, String(attempts)],
  ]
}
