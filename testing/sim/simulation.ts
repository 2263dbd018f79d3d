import type { Key } from '../../src/core/record.ts'
import { digestOf, identityOf } from '../../src/identity/digest.ts'
import type { ClaimItem } from '../../src/ports/store.ts'
import { keyScope } from '../../src/consumer/scope.ts'
import type { Promised } from '../checker/anomaly.ts'
import type { Rules } from '../checker/rules.ts'
import type { End, History, Subject } from '../history.ts'
import { Chance } from './chance.ts'
import { Faults, type Disturbance } from './faults.ts'
import type { Names } from './faulty-store.ts'
import type { SimulatedHandler } from './handler.ts'
import { Interventions, type Instead, type Intervention } from './interventions.ts'
import { LogBroker } from './log-broker.ts'
import { drawPlan, holdAfterOf, LONGEST_RESEND_MS, type Plan } from './plan.ts'
import { SimProcess } from './process.ts'
import { Provider } from './provider.ts'
import { QueueBroker } from './queue-broker.ts'
import { subjectOf, type SimBroker, type SimMessage } from './sim-broker.ts'
import { Stage } from './stage.ts'
import { inboxServer, leaseServer, offsetsServer, type StoreServer } from './store-server.ts'
import { Timeline } from './timeline.ts'
import { CONSUMER, Worker, type SimWorker, type WorkerParts } from './worker.ts'

/** After heal everything must be settled within this time. */
const DRAINS_WITHIN_MS = 20_000
/** A consumer that holds lets one message through in a minute, at last: enough for a tail of messages without an ID. */
const HOLDING_DRAINS_WITHIN_MS = 900_000
const LOOK_EVERY_MS = 100
/** A frozen worker wakes up this long after its lease and its place in the group are over. */
const FROZEN_TOO_LONG_MS = 500
/** Several times the most that any schedule has needed. */
const MOST_DELIVERIES = 40

/**
 * One schedule: the library's own code, a broker, a store and processes on a virtual timeline, with all randomness from
 * one seed. The caller lets the event loop turn once after each step, so that all promises of that step have settled.
 */
export class Simulation {
  readonly seed: number
  readonly plan: Plan
  readonly #stage: Stage
  readonly #cast: Cast
  readonly #store: StoreServer
  readonly #groups: readonly Group[]
  /** Draws what the producer does. */
  readonly #producer: Chance
  readonly #sent = new Map<Subject, SimMessage>()
  readonly #interventions: Interventions
  #end: End | undefined
  #tokens = 0

  constructor(seed: number, { promised, handle }: SimulationOptions = {}, cast: Cast = LIBRARY) {
    this.seed = seed
    this.#cast = cast
    const chance = new Chance(seed)
    this.plan = cast.drawPlan(chance, promised)
    this.#stage = new Stage(new Timeline(), chance, new Faults(chance, this.plan))
    this.#store = serverOf(this.plan, this.#stage)
    const provider = new Provider(this.#stage, this.plan.promised === 'lease, keyed')
    const names = ['a', 'b'].slice(0, this.plan.groups)
    const newToken = (): string => `t${++this.#tokens}`
    this.#groups = names.map(
      (name) =>
        new Group(name, { stage: this.#stage, plan: this.plan, provider, store: this.#store, newToken, handle, cast }),
    )
    this.#producer = cast.sameMessages === true ? new Chance(~seed) : chance
    this.#interventions = new Interventions(cast.interventions ?? [], cast.instead ?? {}, (intervention, worker) =>
      this.#intervene(intervention, worker),
    )
    this.#stage.watch = (event) => this.#interventions.see(event, this.#stage.events)
    this.#schedule()
  }

  /** Executes the next moment. `false`: the schedule is over. */
  step(): boolean {
    return this.#end === undefined && this.#stage.timeline.next()
  }

  get history(): History {
    if (this.#end === undefined) throw new TypeError('the schedule is not over (simulation.history)')
    return { events: this.#stage.events, end: this.#end }
  }

  /** For each intervention the index of its first event, if it began. */
  get begun(): readonly (number | undefined)[] {
    return this.#interventions.begun
  }

  get rules(): Rules {
    const { promised, maxAttempts, disturbances, isCalm } = this.plan
    // Parking finds messages in doubt by their records; without the record the promise does not hold.
    const admitted = promised === 'lease, park' && disturbances.some(({ kind }) => kind === 'store-loss')
    return {
      promised,
      hadFaults: !isCalm || this.#interventions.begun.length > 0,
      maxAttempts,
      mostDeliveries: MOST_DELIVERIES,
      ...(admitted ? { admitted: ['A2 duplicate attempt', 'A2 duplicate accepted'] } : {}),
    }
  }

  #schedule(): void {
    const { timeline } = this.#stage
    const { messages, disturbances, faultsForMs } = this.plan
    for (const group of this.#groups) group.startAll()
    for (let number = 0; number < messages; number++) {
      // After all members have joined, which is a rebalance of its own.
      timeline.after(this.#producer.between(20, faultsForMs), () => this.#publish(number))
    }
    for (const { atMs, kind } of disturbances) timeline.after(atMs, () => this.#disturb(kind))
    timeline.after(faultsForMs, () => this.#heal())
    for (const [index, { when }] of (this.#cast.interventions ?? []).entries()) {
      if (!('atMs' in when)) continue
      // The second moment comes after all others of this millisecond.
      timeline.after(when.atMs, () => timeline.after(0, () => this.#interventions.begin(index, this.#stage.events)))
    }
  }

  #publish(number: number): void {
    const chance = this.#producer
    const { unidentified, ordered, resent, resentWithinMs, conflicting } = this.plan
    const id = chance.happens(unidentified) ? undefined : `m${number}`
    const message = { id, print: `p${number}`, key: chance.happens(ordered) ? `k${chance.below(2)}` : null }
    this.#send(message)
    const again = chance.happens(conflicting) ? { ...message, print: `other than p${number}` } : message
    if (again !== message || chance.happens(resent)) {
      this.#stage.timeline.after(chance.below(resentWithinMs), () => this.#send(again))
    }
  }

  #send(message: SimMessage): void {
    for (const { broker, name } of this.#groups) {
      if (message.id !== undefined) this.#sent.set(subjectOf(name, message.id), message)
      broker.publish(message)
    }
  }

  #disturb(kind: Disturbance): void {
    const { chance, faults } = this.#stage
    const group = chance.pick(this.#groups)
    faults.count++
    switch (kind) {
      case 'store-loss': {
        const key = this.#store.lose()
        if (key === undefined) return
        for (const { name, names } of this.#groups) {
          const subject = names.subjectOf({ key })
          if (subject !== name) this.#stage.record('store', { f: 'store-loss', subject })
        }
        return
      }
      case 'store-down':
        faults.setStoreDown(true)
        this.#stage.record('store', { f: 'store-down' })
        this.#stage.timeline.after(chance.between(50, 800), () => faults.setStoreDown(false))
        return
      case 'pause':
      case 'kill':
      case 'start':
      case 'stop':
      case 'redeliver':
      case 'disconnect':
      case 'clock-jump':
        group.disturb(kind)
    }
  }

  #intervene({ kind, on }: Intervention, worker: string | undefined): void {
    // The end of a schedule is a deployment, which nobody disturbs.
    if (this.#stage.isOver) return
    switch (kind) {
      case 'repeat': {
        const message = on === undefined ? undefined : this.#sent.get(on)
        if (message !== undefined) this.#send(message)
        return
      }
      case 'rebalance':
        for (const { broker } of this.#groups) if (broker.system === 'log') broker.disturb()
        return
      case 'kill':
      case 'freeze':
      case 'cut':
        for (const group of this.#groups) if (group.intervene(kind, on, worker)) return
    }
  }

  #heal(): void {
    this.#stage.faults.heal()
    this.#stage.record('everywhere', { f: 'heal' })
    for (const group of this.#groups) group.heal()
    this.#stage.timeline.after(LONGEST_RESEND_MS, () => {
      const withinMs = holdAfterOf(this.plan) === undefined ? DRAINS_WITHIN_MS : HOLDING_DRAINS_WITHIN_MS
      this.#awaitDrain(this.#stage.timeline.now + withinMs)
    })
  }

  #awaitDrain(until: number): void {
    const { timeline } = this.#stage
    timeline.after(LOOK_EVERY_MS, () => {
      // A worker that still runs a message which others have settled may send a copy of it.
      const isDrained = this.#groups.every(({ broker, isIdle }) => broker.unsettled().length === 0 && isIdle)
      if (isDrained || timeline.now >= until) void this.#stopAll(isDrained)
      else this.#awaitDrain(until)
    })
  }

  async #stopAll(isDrained: boolean): Promise<void> {
    const { timeline } = this.#stage
    this.#stage.isOver = true
    // A stop that hangs is detected, because its call has no end.
    timeline.after(DRAINS_WITHIN_MS, () => this.#endWith(isDrained))
    await Promise.all(this.#groups.map((group) => group.stopAll()))
    this.#endWith(isDrained)
  }

  #endWith(isDrained: boolean): void {
    const unsettled = this.#groups.flatMap(({ broker }) => broker.unsettled())
    const records = new Map<Subject, 'processing' | 'released' | 'done' | 'given-up' | 'parked'>()
    for (const [key, state] of this.#store.states()) {
      for (const { names, name } of this.#groups) {
        if (this.plan.promised === 'offsets') records.set(key, state)
        const subject = names.subjectOf({ key })
        if (subject !== name) records.set(subject, state)
      }
    }
    this.#end ??= { isDrained, unsettled, records, at: this.#stage.timeline.now }
  }
}

export interface SimulationOptions {
  /**
   * Tests one promise only.
   * @defaultValue each seed chooses its own
   */
  readonly promised?: Promised | undefined
  /** A handler of your own, instead of the correct one. It may await only what its context offers. */
  readonly handle?: SimulatedHandler | undefined
}

/** What runs in a schedule. */
export interface Cast {
  readonly drawPlan: (chance: Chance, promised: Promised | undefined) => Plan
  readonly newWorker: (process: SimProcess, parts: WorkerParts) => SimWorker
  /** The producer sends the same messages at the same times, whatever else happens. */
  readonly sameMessages?: boolean
  readonly interventions?: readonly Intervention[]
  readonly instead?: Instead
}

const LIBRARY: Cast = { drawPlan, newWorker: (process, parts) => new Worker(process, parts) }

interface GroupParts {
  readonly stage: Stage
  readonly plan: Plan
  readonly provider: Provider
  readonly store: StoreServer
  readonly newToken: () => string
  readonly handle: SimulatedHandler | undefined
  readonly cast: Cast
}

/** One consumer group, or queue, with its workers. */
class Group {
  readonly name: string
  readonly broker: SimBroker
  readonly names: Names
  readonly #parts: GroupParts
  readonly #workers: SimWorker[] = []

  constructor(name: string, parts: GroupParts) {
    this.name = name
    this.#parts = parts
    const { plan, stage } = parts
    this.broker = plan.broker === 'log' ? new LogBroker(stage, name, plan) : new QueueBroker(stage, name, plan)
    this.names = namesOf(name, plan)
  }

  get isIdle(): boolean {
    return this.#workers.every(({ isUp, isIdle }) => !isUp || isIdle)
  }

  startAll(): void {
    for (let number = 0; number < this.#parts.plan.workers; number++) this.#start()
  }

  disturb(kind: 'pause' | 'kill' | 'start' | 'stop' | 'redeliver' | 'disconnect' | 'clock-jump'): void {
    const { stage } = this.#parts
    const { chance } = stage
    if (kind === 'start') return this.#start()
    if (kind === 'redeliver') return this.broker.redeliver()
    if (kind === 'disconnect') return this.broker.disturb()
    const up = this.#workers.filter(({ isUp }) => isUp)
    if (up.length === 0) return this.#start()
    const worker = chance.pick(up)
    const { process } = worker
    switch (kind) {
      case 'pause':
        return stage.pause(process, chance.between(50, 1_500), 'from outside')
      case 'kill':
        return this.#kill(process)
      case 'clock-jump':
        stage.record(process.name, { f: 'clock-jump' })
        return process.jump(chance.pick([-120_000, -1_000, 5_000, 3_600_000]))
      case 'stop':
        void worker.stop()
    }
  }

  /** Does it to the first of these workers that is up. `false`: none is. */
  intervene(kind: 'kill' | 'freeze' | 'cut', ...names: readonly (string | undefined)[]): boolean {
    const worker = names
      .map((name) => this.#workers.find(({ process, isUp }) => isUp && process.name === name))
      .find((one) => one !== undefined)
    if (worker === undefined) return false
    const { process } = worker
    const { stage, plan } = this.#parts
    switch (kind) {
      case 'kill':
        this.#kill(process)
        break
      case 'freeze':
        stage.pause(process, plan.leaseMs + plan.silenceMs + FROZEN_TOO_LONG_MS, 'from outside')
        break
      case 'cut':
        this.broker.cut(process)
    }
    return true
  }

  #kill(process: SimProcess): void {
    this.#parts.stage.record(process.name, { f: 'crash', detail: 'killed' })
    process.die()
  }

  heal(): void {
    this.broker.heal()
    if (this.#workers.every(({ isUp }) => !isUp)) this.#start()
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()))
  }

  /** Starts a worker. A dead one is started again, as a process supervisor does. */
  #start(): void {
    const { stage, plan, provider, newToken, handle, store, cast } = this.#parts
    const process = new SimProcess(`${this.name}${this.#workers.length + 1}`, stage.timeline)
    const { broker, names } = this
    const worker = cast.newWorker(process, {
      stage,
      plan,
      broker,
      provider,
      names,
      newToken,
      handle,
      connect: (own) => store.connect(own),
    })
    this.#workers.push(worker)
    process.onDeath(() => {
      stage.timeline.after(stage.chance.between(20, 400), () => {
        if (this.#workers.every(({ isUp }) => !isUp) && !stage.isOver) this.#start()
      })
    })
    void worker.start()
  }
}

function serverOf({ promised }: Plan, stage: Stage): StoreServer {
  switch (promised) {
    case 'inbox':
      return inboxServer(stage)
    case 'offsets':
      return offsetsServer(stage)
    case 'lease, rerun':
    case 'lease, park':
    case 'lease, keyed':
      return leaseServer(stage)
  }
}

/** Keys and digests as the library computes them for the producer's messages. */
function namesOf(group: string, { broker, messages }: Plan): Names {
  const subjects = new Map<Key, Subject>()
  const prints = new Map<string, string>()
  const scope = keyScope({ name: CONSUMER, scope: undefined }, group, broker)
  for (let number = 0; number < messages; number++) {
    subjects.set(identityOf(scope, Buffer.from(`m${number}`)).key, subjectOf(group, `m${number}`))
    for (const print of [`p${number}`, `other than p${number}`]) prints.set(digestOf(Buffer.from(print)), print)
  }
  return {
    subjectOf: ({ key, position }: Pick<ClaimItem, 'key' | 'position'>) =>
      position === undefined ? (subjects.get(key) ?? group) : `${position.stream}@${position.offset}`,
    printOf: (digest) => prints.get(digest) ?? '',
  }
}
