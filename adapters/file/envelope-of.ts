import { isUtf8 } from 'node:buffer'
import type { Message, ReplayItem } from '../../src/internal.ts'
import { BYTES } from './message.ts'

/**
 * A message as one line of a file, without its end. Payload and key are written as text too if they are UTF-8, for
 * people and other tools. Properties that `Message` does not have, such as a content type, are not written.
 */
export function envelopeOf({ message, timestampOf, timestamp }: ReplayItem): string {
  const { key, value } = message
  return JSON.stringify({
    ...(message.system === 'rabbitmq' ? rabbitFields(message) : kafkaFields(message)),
    ...(timestamp === undefined ? {} : { tstype: timestampOf === 'broker' ? 'logappend' : 'create', ts: timestamp }),
    key: textOf(key),
    ...(key === null ? {} : { key_base64: base64(key) }),
    payload: textOf(value),
    ...(value === null ? {} : { payload_base64: base64(value) }),
  })
}

function kafkaFields({ destination, position, headers }: Message): Record<string, unknown> {
  // The position of a queue of others has no partition.
  const [, partition, offset] = /^(-?\d+)@(\d+)$/.exec(position) ?? []
  const pairs = Object.keys(headers).flatMap((name) => {
    const value = headers[name]
    return (Array.isArray(value) ? (value as unknown[]) : [value]).map((one) => [name, bytesOf(one)] as const)
  })
  return {
    topic: destination,
    ...(partition === undefined ? {} : { partition: Number(partition), offset: Number(offset) }),
    headers: pairs.flatMap(([name, bytes]) => [name, bytes.toString('utf8')]),
    ...(pairs.every(([, bytes]) => isUtf8(bytes))
      ? {}
      : { headers_base64: pairs.flatMap(([name, bytes]) => [name, base64(bytes)]) }),
  }
}

function rabbitFields({ destination, key, headers, messageId, timestamp }: Message): Record<string, unknown> {
  return {
    queue: destination,
    routing_key: textOf(key),
    properties: {
      ...(messageId === undefined ? {} : { messageId }),
      ...(timestamp === undefined ? {} : { timestamp: Math.floor(timestamp / 1000) }),
      headers: writable(headers),
    },
  }
}

/** Bytes have no form in JSON. A table may hold them at any depth. */
function writable(value: unknown): unknown {
  if (value instanceof Uint8Array) return { '!': BYTES, value: base64(value) }
  if (Array.isArray(value)) return value.map(writable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.keys(value).map((name) => [name, writable((value as Record<string, unknown>)[name])]),
  )
}

/** As kcat does: bytes that are not UTF-8 become U+FFFD, and the base64 has them. */
function textOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString('utf8')
}

function bytesOf(value: unknown): Buffer {
  return Buffer.from(typeof value === 'string' || value instanceof Uint8Array ? value : [])
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
