import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel } from 'kafkajs'
import { Cluster } from '../../test/kafka/kit.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import type { PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import type { PrivateRedis } from '../../test/kit/servers/private-redis.ts'
import type { WorkerLine } from '../kit/worker/protocol.ts'
import { WorkerProcess } from '../kit/worker/worker-process.ts'
import { costOf, type Cost, type Run, type Window } from './figures.ts'
import {
  EVERY_MS,
  HAPPENINGS,
  HEARTBEAT_MS,
  KEYS,
  MEMBERS,
  PARTITIONS,
  SESSION_MS,
  sourceOf,
  type Contender,
  type Happening,
  type Numbered,
  type Told,
} from './plan.ts'

export type Round = Readonly<Record<Happening, Cost>>

interface Servers {
  readonly kafka: PrivateKafka
  readonly redis: PrivateRedis
}

const WORKER = new URL('worker.ts', import.meta.url)
/** Before a change, and after the group has settled. */
const STEADY_MS = 2_000
const SETTLED_WITHIN_MS = 120_000
const LOOK_EVERY_MS = 100
/** So far a member may be behind what was sent, as one that keeps up is. */
const BEHIND = 10

/**
 * Three members; one joins, one leaves in order, one is killed.
 *
 * @param phase - from 0 to 1: when between two heartbeats. Members that joined together beat together.
 */
export async function runRound(contender: Contender, { kafka, redis }: Servers, phase: number): Promise<Round> {
  await using cluster = await Cluster.open(kafka.brokers)
  const place = { brokers: kafka.brokers, topic: await cluster.topic(PARTITIONS), group: uniqueName('rebalance') }
  const watched = new Watched()
  const hired: WorkerProcess<Told>[] = []
  const hire = (number: number, isHeld: boolean): WorkerProcess<Told> => {
    const spec = {
      process: `m${number}`,
      sources: [sourceOf(contender, place)],
      store: { on: 'redis', strategy: 'lease', url: redis.url },
      consumer: { name: 'rebalanced', leaseMs: SESSION_MS },
      settings: undefined,
      stopDeadlineMs: 10_000,
      isHeld,
    } as const
    const one = new WorkerProcess<Told>(WORKER, spec, (line) => watched.hear(spec.process, line))
    hired.push(one)
    return one
  }
  const sending = new Sending(place, watched)
  try {
    const [leaving, killed] = [hire(1, false), hire(2, false), hire(3, false)]
    const joining = hire(4, true)
    await joining.untilLoaded()
    await watched.untilSettled(MEMBERS.nothing)
    const act: Readonly<Record<Happening, () => unknown>> = {
      nothing: () => {},
      joins: () => joining.order('begin'),
      leaves: () => leaving.order('stop'),
      killed: () => killed.kill(),
    }
    const costs = new Map<Happening, Cost>()
    for (const happening of HAPPENINGS) {
      await sleep(phase * HEARTBEAT_MS)
      const from = Date.now()
      await act[happening]()
      await watched.untilSettled(MEMBERS[happening])
      costs.set(happening, watched.costOf({ from, to: Date.now() }))
    }
    await sending.end()
    await watched.untilAllHandled()
    return Object.fromEntries(costs) as Round
  } catch (error) {
    throw new Error(hired.map(({ name, hasEnded, lastWords }) => `${name} ${hasEnded}: ${lastWords}`).join('\n'), {
      cause: error,
    })
  } finally {
    await sending.end()
    await Promise.all(hired.map((one) => one.kill()))
  }
}

/** What the members have told so far. */
class Watched {
  readonly sent: number[] = Array.from({ length: PARTITIONS }, () => 0)
  readonly #runs: Run[] = []
  readonly #again: number[] = []

  hear(process: string, line: WorkerLine<Told>): void {
    if (line.says !== 'report') return
    const { report } = line
    if ('again' in report) this.#again.push(report.at)
    else this.#runs.push({ ...report.handled, process, at: report.at })
  }

  costOf(window: Window): Cost {
    return costOf(
      this.#runs.toSorted((a, b) => a.at - b.at),
      this.#again,
      window,
    )
  }

  /** So many members have equal shares, and keep up, for a while. */
  async untilSettled(members: number): Promise<void> {
    const deadline = Date.now() + SETTLED_WITHIN_MS
    for (let since = Date.now(); Date.now() - since < STEADY_MS;) {
      await sleep(LOOK_EVERY_MS)
      if (!this.#isSettled(members, since)) since = Date.now()
      if (Date.now() > deadline) throw new Error(`not settled within ${SETTLED_WITHIN_MS} ms: ${this.#told()}`)
    }
  }

  #isSettled(members: number, since: number): boolean {
    const shares = this.#shares(Math.min(since, Date.now() - STEADY_MS / 2))
    return shares.length === members && shares.every((share) => share === PARTITIONS / members) && this.#isUpToDate()
  }

  /** Whoever handled it. */
  async untilAllHandled(): Promise<void> {
    const deadline = Date.now() + SETTLED_WITHIN_MS
    const all = this.sent.reduce((sum, count) => sum + count, 0)
    while (new Set(this.#runs.map(({ id }) => id)).size < all) {
      if (Date.now() > deadline) throw new Error(`lost: ${all} were sent, ${this.#runs.length} were handled`)
      await sleep(LOOK_EVERY_MS)
    }
  }

  /** For people. */
  #told(): string {
    const shares = this.#shares(Date.now() - STEADY_MS)
    return `shares ${shares.join(', ')}; sent ${this.sent.join(' ')}; handled ${this.#handled().join(' ')}`
  }

  /** How many partitions each member handles. */
  #shares(since: number): readonly number[] {
    const shares = new Map<string, Set<number>>()
    for (const { process, partition, at } of this.#runs.slice(-PARTITIONS * 200)) {
      if (at >= since) shares.set(process, (shares.get(process) ?? new Set()).add(partition))
    }
    return [...shares.values()].map(({ size }) => size)
  }

  #isUpToDate(): boolean {
    const handled = this.#handled()
    return this.sent.every((count, partition) => count - (handled[partition] ?? 0) <= BEHIND)
  }

  /** The highest number of each partition. */
  #handled(): readonly number[] {
    const handled = this.sent.map(() => 0)
    for (const { partition, id } of this.#runs.slice(-PARTITIONS * 200)) {
      handled[partition] = Math.max(handled[partition] ?? 0, Number(id.slice(id.indexOf('/') + 1)))
    }
    return handled
  }
}

/** One message to each partition, again and again. */
class Sending {
  #isOver = false
  readonly #sent: Promise<void>

  constructor(place: { readonly brokers: string[]; readonly topic: string }, { sent }: Watched) {
    this.#sent = this.#send(place, sent)
  }

  async #send({ brokers, topic }: { readonly brokers: string[]; readonly topic: string }, sent: number[]) {
    const producer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).producer()
    await producer.connect()
    const begun = performance.now()
    for (let number = 1; !this.#isOver; number++) {
      const messages = sent.map((_, partition) => {
        const one: Numbered = { id: `${partition}/${number}`, partition, number }
        return { partition, key: `k-${number % KEYS}`, value: JSON.stringify(one), headers: { 'message-id': one.id } }
      })
      await producer.send({ topic, messages, acks: -1 })
      sent.fill(number)
      await sleep(Math.max(0, begun + number * EVERY_MS - performance.now()))
    }
    await producer.disconnect()
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#sent
  }
}
