// What stands for your broker and its client: a log with partitions, consumer groups, calls that take time and fail.
// It lives in this process, so that the example needs no server.

export interface LogRecord {
  readonly offset: number
  readonly key: string | null
  readonly value: Uint8Array | null
  readonly headers: Readonly<Record<string, unknown>>
  readonly timestamp: number
}

export type Produced = Omit<LogRecord, 'offset' | 'timestamp'>

/** What a member of a group reads: each partition, with the offset that the group has committed. */
export interface Assignment {
  readonly generation: number
  readonly committed: ReadonlyMap<number, number>
}

export interface Member {
  /** @throws Error if the group has rebalanced since this generation, or the connection breaks */
  commit(generation: number, offsets: ReadonlyMap<number, number>): Promise<void>
  leave(): Promise<void>
}

type OnAssigned = (assignment: Assignment) => void

const MOST_PER_FETCH = 50
const LONGEST_POLL_MS = 20

export class Log {
  readonly partitions: number
  readonly #topics = new Map<string, LogRecord[][]>()
  readonly #groups = new Map<string, Group>()
  readonly #refused = new Set<string>()
  /** Calls that began on an earlier connection fail. */
  #connection = 0
  #next = 0

  constructor(partitions = 2) {
    this.partitions = partitions
  }

  /** Resolves when the log has the record for good. */
  async append(topic: string, record: Produced): Promise<void> {
    await this.#answered()
    if (this.#refused.has(topic)) throw new Error(`${topic}: not enough replicas`)
    const partition = record.key === null ? this.#next++ % this.partitions : sumOf(record.key) % this.partitions
    const records = this.#partition(topic, partition)
    records.push({ ...record, offset: records.length, timestamp: Date.now() })
  }

  /** The records from this offset on. Waits a little for the first; empty if there is none. */
  async fetch(topic: string, partition: number, from: number): Promise<readonly LogRecord[]> {
    await this.#answered()
    const records = this.#partition(topic, partition)
    if (records.length <= from) await this.#answered(LONGEST_POLL_MS)
    return records.slice(from, from + MOST_PER_FETCH)
  }

  /** Where each partition ends. */
  async ends(topic: string): Promise<readonly number[]> {
    await this.#answered()
    return Array.from({ length: this.partitions }, (_, partition) => this.#partition(topic, partition).length)
  }

  /** Joins a group, which gives each member some of the partitions, now and whenever members come and go. */
  async join(topic: string, groupName: string, onAssigned: OnAssigned): Promise<Member> {
    await this.#answered()
    const group = this.#group(topic, groupName)
    group.members.push(onAssigned)
    group.rebalance()
    return {
      commit: async (generation, offsets) => {
        await this.#answered()
        if (generation !== group.generation) throw new Error('the group has rebalanced')
        for (const [partition, offset] of offsets) group.committed[partition] = offset
      },
      leave: async () => {
        const at = group.members.indexOf(onAssigned)
        if (at < 0) return
        group.members.splice(at, 1)
        group.rebalance()
        await this.#answered()
      },
    }
  }

  /** What the group has committed, partition by partition. */
  committed(topic: string, group: string): readonly number[] {
    return this.#group(topic, group).committed
  }

  /** What happens to a broker. */
  readonly happens = {
    rebalance: (topic: string, group: string): void => this.#group(topic, group).rebalance(),
    disconnect: (): void => void this.#connection++,
    refuse: (topic: string): void => void this.#refused.add(topic),
    accept: (topic: string): void => void this.#refused.delete(topic),
  }

  async #answered(afterMs = 0): Promise<void> {
    const connection = this.#connection
    await new Promise((resolve) => setTimeout(resolve, afterMs))
    if (connection !== this.#connection) throw new Error('the connection broke')
  }

  #partition(topic: string, partition: number): LogRecord[] {
    const made = Array.from({ length: this.partitions }, (): LogRecord[] => [])
    const logs = this.#topics.get(topic) ?? made
    this.#topics.set(topic, logs)
    return logs[partition] ?? []
  }

  #group(topic: string, name: string): Group {
    const id = `${topic} ${name}`
    const group = this.#groups.get(id) ?? new Group(this.partitions)
    this.#groups.set(id, group)
    return group
  }
}

class Group {
  readonly members: OnAssigned[] = []
  readonly committed: number[]
  generation = 0

  constructor(partitions: number) {
    this.committed = Array.from({ length: partitions }, () => 0)
  }

  rebalance(): void {
    this.generation++
    for (const [index, onAssigned] of this.members.entries()) {
      const own = this.committed.map((offset, partition) => [partition, offset] as const)
      const mine = own.filter(([partition]) => partition % this.members.length === index)
      onAssigned({ generation: this.generation, committed: new Map(mine) })
    }
  }
}

function sumOf(text: string): number {
  return Buffer.from(text).reduce((sum, byte) => sum + byte, 0)
}
