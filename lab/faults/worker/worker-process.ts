import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { forgetProcess, recordProcess } from '../../../test/kit/servers/test-run.ts'
import { Signal } from '../../../test/kit/signal.ts'
import { EXIT_NOT_STARTED, type WorkerLine, type WorkerSettings } from './settings.ts'

/** One process of a worker, killed and frozen from here. */
export class WorkerProcess extends Signal {
  readonly name: string
  /** Resolves with what ended it, when all it told has been read. */
  readonly ended: Promise<string>
  readonly #child: ChildProcess
  #end: string | undefined
  #isRunning = false
  #lastWords = ''

  constructor(program: string, settings: WorkerSettings, hear: (line: WorkerLine) => void) {
    super()
    this.name = settings.process
    const stdio = ['pipe', 'ignore', 'pipe', 'pipe'] as const
    this.#child = spawn(process.execPath, [program, JSON.stringify(settings)], { stdio: [...stdio] })
    const { pid, stdin, stderr } = this.#child
    if (pid !== undefined) recordProcess(pid, 'SIGKILL')
    stdin?.on('error', () => {})
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-2_000)
    })
    const lines = createInterface({ input: this.#child.stdio[3] as Readable })
    lines.on('line', (text) => {
      const line = JSON.parse(text) as WorkerLine
      if (line.says === 'running') this.#isRunning = true
      hear(line)
      this.notify()
    })
    const read = once(lines, 'close')
    this.ended = once(this.#child, 'exit').then(async ([code, signal]: (number | string | null)[]) => {
      if (pid !== undefined) forgetProcess(pid)
      await read
      this.#end = String(signal ?? `exit code ${code}`)
      this.notify()
      return this.#end
    })
  }

  /** Resolves when it runs, or has ended before. */
  async untilRunning(): Promise<void> {
    await this.until(() => this.#isRunning || this.#end !== undefined)
  }

  /** A server did not answer it in time, as on a busy machine: a supervisor starts it again. */
  get couldNotStart(): boolean {
    return !this.#isRunning && this.#end === `exit code ${EXIT_NOT_STARTED}`
  }

  get hasEnded(): boolean {
    return this.#end !== undefined
  }

  get lastWords(): string {
    return this.#lastWords
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  freeze(): void {
    this.#child.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child.kill('SIGCONT')
  }

  /** It obeys. */
  askToStop(): void {
    this.#child.kill('SIGTERM')
  }
}
