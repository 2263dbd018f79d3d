/** What a member subscribes to: ConsumerProtocolSubscription, version 0, as kafkajs sends it too. */
export interface Subscription {
  readonly topics: readonly string[]
  readonly userData: Buffer
}

/** Partitions by topic. */
export type Assigned = Readonly<Record<string, readonly number[]>>

/** The name under which kafkajs assigns in the same way, so that members of both clients can share a group. */
export const ASSIGNOR = 'RoundRobinAssigner'

const VERSION = 0

export function subscriptionBytes({ topics, userData }: Subscription): Buffer {
  return Buffer.concat([int16(VERSION), int32(topics.length), ...topics.map(text), bytes(userData)])
}

/** `undefined` if another member sends something else. */
export function subscriptionIn(given: Buffer | null): Subscription | undefined {
  try {
    const fields = new Fields(given ?? Buffer.alloc(0))
    fields.int16()
    return { topics: fields.list(() => fields.text()), userData: fields.isOver ? Buffer.alloc(0) : fields.bytes() }
  } catch {
    return undefined
  }
}

export function assignmentBytes(assigned: Assigned): Buffer {
  const topics = Object.entries(assigned).map(([topic, partitions]) =>
    Buffer.concat([text(topic), int32(partitions.length), ...partitions.map(int32)]),
  )
  return Buffer.concat([int16(VERSION), int32(topics.length), ...topics, bytes(Buffer.alloc(0))])
}

export function assignmentIn(given: Buffer): Assigned {
  if (given.length === 0) return {}
  const fields = new Fields(given)
  fields.int16()
  return Object.fromEntries(fields.list(() => [fields.text(), fields.list(() => fields.int32())] as const))
}

/** Deals the partitions of each topic out to the members that subscribe to it, one after the other. */
export function roundRobin(
  members: readonly { readonly memberId: string; readonly topics: readonly string[] }[],
  partitionsOf: ReadonlyMap<string, number>,
): ReadonlyMap<string, Assigned> {
  const sorted = members.toSorted((a, b) => (a.memberId < b.memberId ? -1 : 1))
  const assigned = new Map<string, Record<string, number[]>>(sorted.map(({ memberId }) => [memberId, {}]))
  let turn = 0
  for (const topic of [...partitionsOf.keys()].toSorted()) {
    const own = sorted.filter(({ topics }) => topics.includes(topic))
    if (own.length === 0) continue
    for (let partition = 0; partition < (partitionsOf.get(topic) ?? 0); partition++) {
      const member = own[turn++ % own.length]
      const topics = member && assigned.get(member.memberId)
      if (topics !== undefined) (topics[topic] ??= []).push(partition)
    }
  }
  return assigned
}

class Fields {
  readonly #buffer: Buffer
  #at = 0

  constructor(buffer: Buffer) {
    this.#buffer = buffer
  }

  get isOver(): boolean {
    return this.#at >= this.#buffer.length
  }

  int16(): number {
    this.#at += 2
    return this.#buffer.readInt16BE(this.#at - 2)
  }

  int32(): number {
    this.#at += 4
    return this.#buffer.readInt32BE(this.#at - 4)
  }

  text(): string {
    const length = this.int16()
    this.#at += length
    return this.#buffer.toString('utf8', this.#at - length, this.#at)
  }

  bytes(): Buffer {
    const length = Math.max(0, this.int32())
    this.#at += length
    return this.#buffer.subarray(this.#at - length, this.#at)
  }

  list<T>(read: () => T): T[] {
    const items: T[] = []
    for (let left = this.int32(); left > 0; left--) items.push(read())
    return items
  }
}

function int16(value: number): Buffer {
  const buffer = Buffer.alloc(2)
  buffer.writeInt16BE(value)
  return buffer
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeInt32BE(value)
  return buffer
}

function text(value: string): Buffer {
  const encoded = Buffer.from(value)
  return Buffer.concat([int16(encoded.length), encoded])
}

function bytes(value: Buffer): Buffer {
  return Buffer.concat([int32(value.length), value])
}
