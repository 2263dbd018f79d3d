import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerLine } from '../kit/worker/protocol.ts'
import type { ConsumerSpec, WorkerSpec } from '../kit/worker/spec.ts'
import { WorkerProcess } from '../kit/worker/worker-process.ts'
import type { Journal } from './journal.ts'
import { STOP_DEADLINE_MS, type ChaosSettings, type ChaosReport, type Usage } from './worker-settings.ts'

/** Beside the deadline that `stop()` is given, it flushes, and leaves a broker that may be frozen. */
const STOPS_WITHIN_MS = STOP_DEADLINE_MS + 22_000
const START_AGAIN_MS = 500

/** Consumer options that differ by broker. */
export type Tuning = Omit<ConsumerSpec, 'name'>

/** Module of a worker, and its spec without the name. */
export interface WorkerProgram {
  readonly module: URL
  readonly spec: Omit<WorkerSpec<ChaosSettings>, 'process'>
}

/** The place of one worker: at most one process at a time, and after it the next one. */
export class WorkerSlot {
  readonly name: string
  readonly #program: WorkerProgram
  readonly #journal: Journal
  #incarnation = 0
  #current: Incarnation | undefined
  /** A process that ends while this is true is started again. */
  #isKept = false
  /** One fault at a time. */
  #fault: Promise<void> = Promise.resolve()

  constructor(name: string, program: WorkerProgram, journal: Journal) {
    this.name = name
    this.#program = program
    this.#journal = journal
  }

  start(): void {
    this.#isKept = true
    this.#launch()
  }

  kill(): Promise<void> {
    return this.#inTurn(async () => {
      this.#isKept = false
      const { current } = this
      this.#journal.fault({ process: current.name, kind: 'killed', from: Date.now(), to: Number.POSITIVE_INFINITY })
      await current.kill()
    })
  }

  /** Until what is done meanwhile has settled. */
  freeze(meanwhile: () => Promise<unknown>): Promise<void> {
    return this.#inTurn(async () => {
      const { current } = this
      const from = Date.now()
      current.freeze()
      try {
        await meanwhile()
      } finally {
        this.#journal.fault({ process: current.name, kind: 'frozen', from, to: Date.now() })
        current.thaw()
      }
    })
  }

  /** It obeys. */
  stop(): Promise<void> {
    return this.#inTurn(() => this.#stop())
  }

  #inTurn(act: () => Promise<void>): Promise<void> {
    const turn = this.#fault.then(act)
    this.#fault = turn.catch(() => {})
    return turn
  }

  async #stop(): Promise<void> {
    this.#isKept = false
    const { current } = this
    current.order('stop')
    const late = new AbortController()
    const isLate = sleep(STOPS_WITHIN_MS, true, { signal: late.signal }).catch(() => false)
    if (await Promise.race([current.ended.then(() => false), isLate])) {
      this.#journal.broken(`${current.name} did not stop within ${STOPS_WITHIN_MS} ms`)
      await current.kill()
    }
    late.abort()
    await current.ended
  }

  /** Whatever it does. */
  async end(): Promise<void> {
    this.#isKept = false
    await this.#current?.kill()
  }

  get current(): Incarnation {
    if (this.#current === undefined) throw new Error(`${this.name} was never started`)
    return this.#current
  }

  #launch(): void {
    const incarnation = new Incarnation(`${this.name}.${++this.#incarnation}`, this.#program, this.#journal)
    this.#current = incarnation
    this.#journal.note(incarnation.name, 'started')
    void incarnation.ended.then((end) => this.#ended(incarnation, end))
  }

  async #ended(incarnation: Incarnation, end: string): Promise<void> {
    const { name, lastWords } = incarnation
    this.#journal.note(name, `ended, ${end}: ${lastWords}`)
    if (!this.#isKept) return
    if (incarnation.couldNotStart) this.#journal.count('starts refused')
    else this.#journal.broken(`${name} ended by itself, ${end}: ${lastWords}`)
    await sleep(START_AGAIN_MS)
    if (this.#isKept) this.#launch()
  }
}

/** One process of a worker. */
class Incarnation extends WorkerProcess<ChaosReport> {
  /** Its last report. */
  usage: Usage | undefined

  constructor(process: string, { module, spec }: WorkerProgram, journal: Journal) {
    super(module, { ...spec, process }, (line) => this.#record(line, journal))
  }

  #record(line: WorkerLine<ChaosReport>, journal: Journal): void {
    switch (line.says) {
      case 'loaded':
      case 'stopping':
        return
      case 'running':
      case 'stopped':
        return journal.note(this.name, line.says)
      case 'observed':
        journal.count(line.what)
        return journal.note(this.name, [line.what, line.id, line.detail].join(' '))
      case 'report':
        if ('usage' in line.report) this.usage = line.report.usage
        else for (const [outcome, count] of Object.entries(line.report.counts)) journal.count(outcome, count)
    }
  }
}
