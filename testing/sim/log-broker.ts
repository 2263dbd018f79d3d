import type { DeadLetter, Publisher, Source } from '../../src/ports/source.ts'
import type { Place } from '../history.ts'
import { LogMember, viaOf, type LogCommit, type LogPartition, type LogServer } from './log-member.ts'
import type { Plan } from './plan.ts'
import type { SimProcess } from './process.ts'
import { subjectOf, type SimBroker, type SimMessage } from './sim-broker.ts'
import type { Stage } from './stage.ts'
import { wallAt } from './process.ts'

/**
 * A broker modelled on Kafka, with one topic and one consumer group: partitioned logs, group generations with assigned
 * partitions, and commits that only the current generation may make. A paused or dead member is removed after its
 * session timeout.
 */
export class LogBroker implements SimBroker, LogServer {
  readonly system = 'log'
  readonly group: string
  readonly stage: Stage
  readonly partitions: readonly LogPartition[]
  readonly #members: LogMember[] = []
  /** Strategy `offsets`: a message that is sent twice is two messages. */
  readonly #isPlaceIdentity: boolean
  readonly #sessionMs: number
  #generation = 0
  #roundRobin = 0

  constructor(stage: Stage, group: string, { partitions, promised, silenceMs }: LogSettings) {
    this.stage = stage
    this.#sessionMs = silenceMs
    this.group = group
    this.#isPlaceIdentity = promised === 'offsets'
    this.partitions = Array.from({ length: partitions }, (_, partition) => ({
      name: `${group}:log/${partition}`,
      log: [],
      committed: 0,
      owner: undefined,
      waiting: new Set(),
    }))
  }

  get generation(): number {
    return this.#generation
  }

  publish({ id, print, key }: SimMessage): void {
    const number = key === null ? this.#roundRobin++ : key.charCodeAt(key.length - 1)
    const partition = this.partitions[number % this.partitions.length]
    if (partition === undefined) throw new TypeError('a log without partitions (log-broker.publish)')
    const place: Place = `${partition.name}@${partition.log.length}`
    partition.log.push({
      system: 'memory',
      destination: 'log',
      origin: 'log',
      position: place,
      key: key === null ? null : Buffer.from(key),
      value: Buffer.from(print),
      headers: id === undefined ? {} : { id },
      timestamp: wallAt(this.stage.timeline.now),
    })
    this.stage.record('producer', {
      f: 'send',
      type: 'ok',
      place,
      subject: this.#isPlaceIdentity ? place : id && subjectOf(this.group, id),
      print,
      lane: key === null ? undefined : `${partition.name}/${key}`,
    })
    for (const fetch of partition.waiting) fetch()
    partition.waiting.clear()
  }

  join(process: SimProcess): Source & Publisher {
    const member = new LogMember(this, process)
    process.onDeath(() => void this.stage.timeline.after(this.#sessionMs, () => this.leave(member)))
    process.onPause((forMs) => {
      if (forMs <= this.#sessionMs) return
      this.stage.timeline.after(this.#sessionMs, () => {
        if (process.isPaused) this.leave(member)
      })
      // The member learns this with its next request.
      process.after(forMs + this.stage.faults.latencyMs(), () => member.thrownOut())
    })
    return member
  }

  enter(member: LogMember): void {
    // Its connection was gone before the request arrived.
    if (member.process.isDead) return
    if (!this.#members.includes(member)) this.#members.push(member)
    this.disturb()
  }

  leave(member: LogMember): void {
    const at = this.#members.indexOf(member)
    if (at === -1) return
    this.#members.splice(at, 1)
    this.disturb()
  }

  isMember(member: LogMember): boolean {
    return this.#members.includes(member)
  }

  /** A new generation: every partition is assigned anew, and its member is informed. */
  disturb(): void {
    this.#generation++
    this.stage.record('broker', { f: 'rebalance' })
    const shift = this.stage.chance.below(Math.max(1, this.#members.length))
    const generation = this.#generation
    for (const [index, partition] of this.partitions.entries()) {
      partition.owner = this.#members[(index + shift) % Math.max(1, this.#members.length)]
    }
    for (const member of this.#members) {
      const assigned = this.partitions.filter(({ owner }) => owner === member)
      member.process.after(this.stage.faults.latencyMs(), () => member.assigned(generation, assigned))
    }
  }

  /** Accepts a commit of the current generation, by the member that has the partition. */
  commit(member: LogMember, generation: number, { partition, next, via }: LogCommit): boolean {
    if (generation !== this.#generation || partition.owner !== member) return false
    partition.committed = next
    const assignedVia = viaOf(member, generation)
    this.stage.record(member.process.name, { f: 'commit', partition: partition.name, next, via, assignedVia })
    return true
  }

  deadLetter({ message: { position }, parked, reason }: DeadLetter, type: 'ok' | 'info'): void {
    this.stage.record('broker', { f: 'copy', type, place: position, to: 'dead-letter', parked, reason })
  }

  cut(process: SimProcess): void {
    const member = this.#members.find((one) => one.process === process)
    if (member === undefined) return
    this.leave(member)
    process.after(this.stage.faults.latencyMs(), () => member.thrownOut())
  }

  redeliver(): void {
    for (const member of this.#members) member.redeliver()
  }

  heal(): void {
    for (const member of this.#members.filter(({ process }) => process.isDead)) this.leave(member)
  }

  unsettled(): readonly Place[] {
    return this.partitions.flatMap(({ log, committed }) => log.slice(committed).map(({ position }) => position))
  }
}

type LogSettings = Pick<Plan, 'partitions' | 'promised' | 'silenceMs'>
