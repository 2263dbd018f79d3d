import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel, type Admin, type PartitionMetadata } from 'kafkajs'
import { BROKERS } from './plan.ts'

export interface Place {
  readonly topic: string
  readonly partition: number
}

export const OFFSETS_TOPIC = '__consumer_offsets'
const NODES: readonly number[] = Array.from({ length: BROKERS }, (_, index) => index + 1)
const LOOK_EVERY_MS = 50

/** Moves partitions, and waits for what the cluster says of them: patient with brokers that are down for a while. */
export class ClusterControl implements AsyncDisposable {
  readonly #admin: Admin
  readonly #signal: AbortSignal

  private constructor(admin: Admin, signal: AbortSignal) {
    this.#admin = admin
    this.#signal = signal
  }

  static async connect(brokers: readonly string[], signal: AbortSignal): Promise<ClusterControl> {
    const client = new Kafka({
      brokers: [...brokers],
      logLevel: logLevel.NOTHING,
      requestTimeout: 3_000,
      retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 5 },
    })
    const admin = client.admin()
    await admin.connect()
    return new ClusterControl(admin, signal)
  }

  /** Takes a partition away from its leader. Resolves with that node when it is no replica any more. */
  async moveAway(place: Place): Promise<number> {
    const leader = await this.#ask(async () => {
      const { leader: node, replicas } = await this.#describe(place)
      return node >= 0 && replicas.length === BROKERS ? node : undefined
    })
    const others = NODES.filter((node) => node !== leader)
    await this.#assign(place, others)
    await this.#ask(async () => {
      const { replicas, leader: next } = await this.#describe(place)
      return !replicas.includes(leader) && next !== leader ? true : undefined
    })
    return leader
  }

  /** All nodes have it again. Resolves when the cluster has taken that over; the node catches up later. */
  async moveBack(place: Place, leader: number): Promise<void> {
    const nodes = [leader, ...NODES.filter((node) => node !== leader)]
    await this.#assign(place, nodes)
    await this.#ask(async () => ((await this.#describe(place)).replicas.includes(leader) ? true : undefined))
  }

  /** Every replica of these topics is in sync, and no partition is being moved. */
  async untilInSync(topics: readonly string[]): Promise<void> {
    await this.#ask(async () => {
      const described = await this.#admin.fetchTopicMetadata({ topics: [...topics] })
      const partitions = described.topics.flatMap((topic) => topic.partitions)
      const isInSync = partitions.every(({ isr, leader }) => isr.length === BROKERS && leader >= 0)
      return isInSync ? true : undefined
    })
  }

  /** Every replica of a topic is in sync, of which there may be fewer than brokers. */
  async untilWhole(topic: string): Promise<void> {
    await this.#ask(async () => {
      const described = await this.#admin.fetchTopicMetadata({ topics: [topic] })
      const partitions = described.topics.flatMap((one) => one.partitions)
      return partitions.every(({ isr, replicas, leader }) => isr.length === replicas.length && leader >= 0)
        ? true
        : undefined
    })
  }

  /** The node that leads a partition, and its other replica. */
  async leaderOf(place: Place): Promise<readonly [leader: number, follower: number]> {
    return this.#ask(async () => {
      const { leader, replicas } = await this.#describe(place)
      const follower = replicas.find((node) => node !== leader)
      return leader < 0 || follower === undefined ? undefined : ([leader, follower] as const)
    })
  }

  async untilLedBy(place: Place, node: number): Promise<void> {
    await this.#ask(async () => ((await this.#describe(place)).leader === node ? true : undefined))
  }

  /** That node alone is in sync. */
  async untilAlone(place: Place, node: number): Promise<void> {
    await this.#ask(async () => (String((await this.#describe(place)).isr) === String(node) ? true : undefined))
  }

  endOf({ topic, partition }: Place): Promise<number> {
    return this.#ask(async () => {
      const found = (await this.#admin.fetchTopicOffsets(topic)).find((one) => one.partition === partition)
      return found === undefined ? undefined : Number(found.high)
    })
  }

  async untilEndIs(place: Place, offset: number): Promise<void> {
    while ((await this.endOf(place)) < offset) await sleep(LOOK_EVERY_MS)
  }

  committedOf(groupId: string, { topic, partition }: Place): Promise<number> {
    return this.#ask(async () => {
      const [answer] = await this.#admin.fetchOffsets({ groupId, topics: [topic] })
      const found = answer?.partitions.find((one) => one.partition === partition)
      return found === undefined ? undefined : Number(found.offset)
    })
  }

  async untilCommitted(groupId: string, place: Place, offset: number): Promise<void> {
    while ((await this.committedOf(groupId, place)) < offset) await sleep(LOOK_EVERY_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#admin.disconnect()
  }

  async #assign({ topic, partition }: Place, replicas: readonly number[]): Promise<void> {
    const partitionAssignment = [{ partition, replicas: [...replicas] }]
    await this.#ask(() =>
      this.#admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] }).then(() => true),
    )
  }

  async #describe({ topic, partition }: Place): Promise<PartitionMetadata> {
    const { topics } = await this.#admin.fetchTopicMetadata({ topics: [topic] })
    const found = topics[0]?.partitions.find(({ partitionId }) => partitionId === partition)
    if (found === undefined) throw new Error(`no ${topic}/${partition}`)
    return found
  }

  /** Until there is an answer, whatever fails on the way; the run has a deadline. */
  async #ask<T>(question: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      this.#signal.throwIfAborted()
      const answer = await question().catch(() => undefined)
      if (answer !== undefined) return answer
      await sleep(LOOK_EVERY_MS)
    }
  }
}

/** Which partition of `__consumer_offsets` holds a group: as the brokers count it, by Java's hash of a text. */
export function coordinatorPartitionOf(groupId: string, partitions: number): number {
  let hash = 0
  for (const character of groupId) hash = (Math.imul(31, hash) + character.charCodeAt(0)) | 0
  return Math.abs(hash) % partitions
}
