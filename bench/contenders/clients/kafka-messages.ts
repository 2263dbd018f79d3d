import { hash } from 'node:crypto'
import type { ClaimItem } from 'consume-once/spi'
import type { KafkaMessage } from 'kafkajs'
import { ID_HEADER, indexOf } from '../../tally.ts'

/** A batch without the duplicates inside of it: what every loop by hand must see to before it claims. */
export function distinct(messages: readonly KafkaMessage[]): readonly KafkaMessage[] {
  const first = new Map<number, KafkaMessage>()
  for (const message of messages) {
    const id = indexOf(message.headers?.[ID_HEADER])
    if (!first.has(id)) first.set(id, message)
  }
  return first.size === messages.length ? messages : [...first.values()]
}

export const idOf = ({ headers }: KafkaMessage): string => String(headers?.[ID_HEADER])

/** Key and digest as a store wants them. */
export function itemOf({ headers, value }: KafkaMessage): ClaimItem {
  const id = headers?.[ID_HEADER]
  if (!Buffer.isBuffer(id)) throw new TypeError('a message without an ID')
  return { key: digest(id), digest: digest(value ?? '') }
}

function digest(bytes: Buffer | string): string {
  return hash('sha256', bytes, 'base64url').slice(0, 22)
}
