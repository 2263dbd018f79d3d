import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Producer } from 'kafkajs'
import { eventually } from '../../eventually.ts'
import { payloadOf } from '../../places/payload.ts'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER } from '../../tally.ts'
import { clientOf } from '../clients/kafka-client.ts'
import { lineOnKafka } from '../latency/pace-kafka.ts'
import { partGiven, startPart, untilTold } from '../part.ts'

/** Starts a member of the group, which tells of each message that it handles. Resolves with what ends it in order. */
export type Member = (job: Job, handled: (partition: number) => void) => Promise<() => Promise<void>>

/**
 * The same for all. kafkajs itself: 30 s and 3 s. Members learn of a change by a heartbeat, and a wait of some part of a second for
 * the next one would hide what else a change costs.
 */
export const GROUP = { sessionTimeout: 6_000, heartbeatInterval: 100 }

export const LONGEST = 'longest pause ms'
export const USUAL = 'median pause ms'

const PARTITIONS = 8
const EVERY_MS = 20
/** Longer than a partition waits for its next message where nothing changes. */
const QUIET_MS = 300
const SETTLED_MS = 1_500

/** The second member of two; `leaves` in order. */
export type Change = 'joins' | 'leaves' | 'killed'

/** Two members, and a message to each of 8 partitions every 20 ms: how long each stands still when the second one changes. */
export function pausesWhen(change: Change, member: Member): (job: Job) => Promise<Measurement> {
  return async (given) => {
    const job = { ...given, place: given.name }
    if (partGiven() !== undefined) return asMember(job, member)
    await lineOnKafka.create(job)
    const watched = new Watched()
    const [first, second] = [watched.hire(0), watched.hire(1)]
    try {
      await using sending = await Sending.open(job)
      first.send('go')
      if (change !== 'joins') second.send('go')
      await watched.untilSettled(change === 'joins' ? 1 : 2)
      // Members that joined together beat together: at any moment between two beats.
      await sleep(Math.random() * GROUP.heartbeatInterval)
      const from = performance.now()
      if (change === 'killed') second.kill('SIGKILL')
      else second.send(change === 'joins' ? 'go' : 'stop')
      await watched.untilSettled(change === 'joins' ? 2 : 1)
      const to = performance.now()
      const pauses = watched.pauses(from, to).toSorted((a, b) => a - b)
      const figures = { [LONGEST]: pauses.at(-1) ?? 0, [USUAL]: pauses[pauses.length / 2] ?? 0 }
      const { user, system } = process.cpuUsage()
      return { messages: sending.sent, tookMs: to - from, cpuMs: (user + system) / 1_000, figures }
    } finally {
      await Promise.all([first, second].map(ended))
      await lineOnKafka.remove(job)
    }
  }
}

async function asMember(job: Job, member: Member): Promise<never> {
  await untilTold()
  const stop = await member(job, (partition) => process.send?.(partition))
  await untilTold()
  await stop()
  process.exit(0)
}

async function ended(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return
  const exit = once(process, 'exit')
  process.kill('SIGKILL')
  await exit
}

interface Run {
  readonly member: number
  readonly at: number
}

/** What the members have told. */
class Watched {
  readonly #runs: Run[][] = Array.from({ length: PARTITIONS }, () => [])

  hire(member: number): ChildProcess {
    const process = startPart({ member })
    process.on('message', (partition) => this.#runs[Number(partition)]?.push({ member, at: performance.now() }))
    return process
  }

  /** So many members handle messages of all partitions, for a while. */
  async untilSettled(members: number): Promise<void> {
    let since = performance.now()
    await eventually(`${members} members handle all partitions`, async () => {
      const now = performance.now()
      const newest = this.#runs.flatMap((runs) => runs.at(-1) ?? [])
      const isSo = newest.length === PARTITIONS && newest.every(({ at }) => now - at < QUIET_MS)
      if (!isSo || new Set(newest.map(({ member }) => member)).size !== members) since = now
      return now - since > SETTLED_MS
    })
  }

  /** The longest time without a handled message, of each partition. */
  pauses(from: number, to: number): readonly number[] {
    return this.#runs.map((runs) => {
      const times = [from, ...runs.map(({ at }) => at).filter((at) => at > from && at < to), to]
      return Math.max(...times.slice(1).map((at, before) => at - (times[before] ?? at)))
    })
  }
}

/** A message to each partition, again and again. */
class Sending implements AsyncDisposable {
  sent = 0
  #isOver = false
  readonly #topic: string
  readonly #producer: Producer
  readonly #ended: Promise<void>

  private constructor(topic: string, producer: Producer) {
    this.#topic = topic
    this.#producer = producer
    this.#ended = this.#send()
  }

  static async open(job: Job): Promise<Sending> {
    const producer = clientOf(job).producer()
    await producer.connect()
    return new Sending(job.place, producer)
  }

  async #send(): Promise<void> {
    for (let due = performance.now(); !this.#isOver; due += EVERY_MS) {
      const messages = Array.from({ length: PARTITIONS }, (_, partition) => {
        const id = this.sent++
        return { partition, key: `key-${id}`, value: payloadOf(id), headers: { [ID_HEADER]: `${id}` } }
      })
      await this.#producer.send({ topic: this.#topic, acks: 1, messages })
      await sleep(Math.max(0, due + EVERY_MS - performance.now()))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#ended
    await this.#producer.disconnect()
  }
}
