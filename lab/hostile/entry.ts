/** Carrier of a message: the memory broker, or a client of a real one. */
export type Carrier = 'memory' | 'kafka' | 'rabbitmq'

export const CARRIERS: readonly Carrier[] = ['memory', 'kafka', 'rabbitmq']

/** Why a message must not be run. The words of dead letters. */
type Refusal = 'no-id' | 'conflict' | 'undecodable' | 'handler-failed' | 'attempts-spent'

/** `run`: its effect once. `{ same }`: the message of that index in its entry, so no effect of its own. */
export type Must = 'run' | { readonly same: number } | Refusal

/**
 * One message as a producer sends it. Header values are text, bytes, arrays of them, and on `memory` and `rabbitmq` whatever
 * amqplib writes; `Raw` is what it would not write.
 */
export interface HostileMessage {
  readonly must: Must
  /** `undefined`: no header at all, not even the one that distinguishes messages; its value must then be unique. */
  readonly headers: Readonly<Record<string, unknown>> | undefined
  /** @defaultValue the same JSON for all messages of an entry */
  readonly value?: string | Uint8Array | null
  /** Partition or routing key. @defaultValue none */
  readonly key?: string | Uint8Array
  /** AMQP properties, such as `messageId`. */
  readonly properties?: Readonly<Record<string, unknown>>
  /** In milliseconds. @defaultValue now */
  readonly timestamp?: number
}

/** One hostile input: a message, or several that must be distinguished, or must not. */
export interface HostileEntry {
  readonly name: string
  /** @defaultValue all of them */
  readonly on?: readonly Carrier[]
  /** How the consumer finds its ID. @defaultValue `header`: that of the header `message-id` */
  readonly id?: string
  /** Behaviour of its handler. @defaultValue `apply` */
  readonly effect?: string
  readonly messages: readonly HostileMessage[]
}

/** As a header's value: the name of the topic or queue that the message is sent to. */
export const HERE = '<the topic or queue it is sent to>'

/** Bytes as they are on the wire of AMQP: a whole field value, its type before it, or the bytes of a property's text. */
export class Raw {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** Bytes of an AMQP field that need not be UTF-8. At least 8 bytes, so that the proxy recognizes them. */
export function rawText(bytes: Uint8Array): Raw {
  const head = Buffer.alloc(5, 'S')
  head.writeUInt32BE(bytes.length, 1)
  return new Raw(Buffer.concat([head, bytes]))
}

/** Entries on all carriers, by name. */
export function inputs(entries: Readonly<Record<string, readonly HostileMessage[]>>): HostileEntry[] {
  return Object.entries(entries).map(([name, messages]) => ({ name, messages }))
}

/** One entry for each of these IDs in the header `message-id`; all must be distinguished. */
export function distinct(theme: string, ids: Readonly<Record<string, unknown>>): HostileEntry[] {
  return alone(theme, 'run', ids)
}

/** One entry for each of these IDs, none of which is usable. */
export function unusable(theme: string, ids: Readonly<Record<string, unknown>>): HostileEntry[] {
  return alone(theme, 'no-id', ids)
}

function alone(theme: string, must: Must, ids: Readonly<Record<string, unknown>>): HostileEntry[] {
  return Object.entries(ids).map(([name, id]) => ({
    name: `${theme}: ${name}`,
    messages: [{ must, headers: { 'message-id': id } }],
  }))
}

/** One entry for each pair, which must be two messages although the value is the same. */
export function pairs(
  theme: string,
  ids: Readonly<Record<string, readonly [unknown, unknown]>>,
  more: Pick<HostileEntry, 'on' | 'id'> = {},
): HostileEntry[] {
  return Object.entries(ids).map(([name, both]) => ({
    name: `${theme}: ${name}`,
    ...more,
    messages: both.map((id) => ({ must: 'run', headers: { 'message-id': id } })),
  }))
}

/** One entry for each of these values, with an ID of its own. */
export function values(
  theme: string,
  must: Must,
  given: Readonly<Record<string, string | Uint8Array | null>>,
  more: Pick<HostileEntry, 'on' | 'id'> = {},
): HostileEntry[] {
  return Object.entries(given).map(([name, value]) => ({
    name: `${theme}: ${name}`,
    ...more,
    messages: [{ must, headers: { 'message-id': `${theme}/${name}` }, value }],
  }))
}

export const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')
export const utf8 = (text: string): Buffer => Buffer.from(text)
