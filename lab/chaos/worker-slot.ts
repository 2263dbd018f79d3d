import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { compiled } from '../../test/kit/compiled.ts'
import { forgetProcess, recordProcess } from '../../test/kit/servers/test-run.ts'
import type { Journal } from './journal.ts'
import {
  EXIT_NOT_STARTED,
  STOP_DEADLINE_MS,
  type Usage,
  type WorkerLine,
  type WorkerSettings,
} from './worker-settings.ts'

/** Beside the deadline that `stop()` is given, it flushes, and leaves a broker that may be frozen. */
const STOPS_WITHIN_MS = STOP_DEADLINE_MS + 22_000
const START_AGAIN_MS = 500

/** What a worker runs, and all it is told but its name. */
export interface WorkerProgram {
  readonly url: URL
  readonly settings: Omit<WorkerSettings, 'process'>
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

  constructor(name: string, program: WorkerProgram, journal: Journal) {
    this.name = name
    this.#program = program
    this.#journal = journal
  }

  start(): void {
    this.#isKept = true
    this.#launch()
  }

  async kill(): Promise<void> {
    this.#isKept = false
    const { current } = this
    this.#journal.harm({ process: current.name, kind: 'killed', from: Date.now(), to: Number.POSITIVE_INFINITY })
    current.child.kill('SIGKILL')
    await current.ended
  }

  async freeze(forMs: number): Promise<void> {
    const { current } = this
    const from = Date.now()
    current.child.kill('SIGSTOP')
    await sleep(forMs)
    this.#journal.harm({ process: current.name, kind: 'frozen', from, to: Date.now() })
    current.child.kill('SIGCONT')
  }

  /** SIGTERM, which it obeys. */
  async stop(): Promise<void> {
    this.#isKept = false
    const { current } = this
    current.child.kill('SIGTERM')
    const late = new AbortController()
    const isLate = sleep(STOPS_WITHIN_MS, true, { signal: late.signal }).catch(() => false)
    if (await Promise.race([current.ended.then(() => false), isLate])) {
      this.#journal.broken(`${current.name} did not stop within ${STOPS_WITHIN_MS} ms`)
      current.child.kill('SIGKILL')
    }
    late.abort()
    await current.ended
  }

  /** Whatever it does. */
  async end(): Promise<void> {
    this.#isKept = false
    this.#current?.child.kill('SIGKILL')
    await this.#current?.ended
  }

  get current(): Incarnation {
    if (this.#current === undefined) throw new Error(`${this.name} was never started`)
    return this.#current
  }

  #launch(): void {
    const name = `${this.name}.${++this.#incarnation}`
    const settings = JSON.stringify({ ...this.#program.settings, process: name } satisfies WorkerSettings)
    const args = [compiled(this.#program.url), settings]
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    const incarnation = new Incarnation(name, child, this.#journal)
    this.#current = incarnation
    this.#journal.note(name, 'started')
    void incarnation.ended.then((code) => this.#ended(incarnation, code))
  }

  async #ended(incarnation: Incarnation, code: number | null): Promise<void> {
    if (!this.#isKept) return
    if (code === EXIT_NOT_STARTED && !incarnation.hasRun) {
      this.#journal.count('starts refused')
    } else {
      this.#journal.broken(`${incarnation.name} ended by itself, exit ${code}: ${incarnation.lastWords}`)
    }
    await sleep(START_AGAIN_MS)
    if (this.#isKept) this.#launch()
  }
}

/** One process of a worker. */
class Incarnation {
  readonly name: string
  readonly child: ChildProcess
  /** Resolves with its exit code, when all it said has been read. */
  readonly ended: Promise<number | null>
  hasRun = false
  /** What it told last. */
  usage: Usage | undefined
  lastWords = ''

  constructor(name: string, child: ChildProcess, journal: Journal) {
    this.name = name
    this.child = child
    const { pid } = child
    if (pid !== undefined) recordProcess(pid, 'SIGKILL')
    child.stdin?.on('error', () => {})
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.lastWords = (this.lastWords + text).slice(-4_000)
      journal.note(name, `stderr: ${text.trim()}`)
    })
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on('line', (text) => this.#hear(text, journal))
    }
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, signal) => {
        if (pid !== undefined) forgetProcess(pid)
        journal.note(name, `ended, ${signal ?? `exit ${code}`}`)
        resolve(code)
      })
    })
  }

  #hear(text: string, journal: Journal): void {
    const line = readLine(text)
    switch (line?.says) {
      case 'running':
        this.hasRun = true
        return journal.note(this.name, 'running')
      case 'stopped':
        return journal.note(this.name, 'stopped')
      case 'event':
        journal.count(line.event)
        return journal.note(this.name, `${line.event} ${line.detail ?? ''}`)
      case 'outcomes':
        for (const [outcome, count] of Object.entries(line.counts)) journal.count(outcome, count)
        return
      case 'usage':
        this.usage = line.usage
        return
      case undefined:
        return journal.note(this.name, text)
    }
  }
}

/** A process that is killed leaves half a line. */
function readLine(text: string): WorkerLine | undefined {
  try {
    return JSON.parse(text) as WorkerLine
  } catch {
    return undefined
  }
}
