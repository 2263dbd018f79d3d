import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { forgetProcess, recordProcess } from '../../../test/kit/servers/test-run.ts'
import { Signal } from '../../../test/kit/signal.ts'
import { bundledWorker } from './bundled.ts'
import { EXIT_FAILED, LINES, type Order, type WorkerLine } from './protocol.ts'
import type { WorkerSpec } from './spec.ts'

/** One process of a worker, killed, frozen and watched from here. It ends with this process. */
export class WorkerProcess<Report> extends Signal implements AsyncDisposable {
  readonly name: string
  /** Resolves with the cause of its end, a signal or `exit code 0`, when all its reports have been read. */
  readonly ended: Promise<string>
  readonly #child: ChildProcess
  #end: string | undefined
  #hasLoaded = false
  #hasRun = false
  #hasHeardStop = false
  #lastWords = ''

  constructor(module: URL, spec: WorkerSpec<unknown>, onLine: (line: WorkerLine<Report>) => void) {
    super()
    this.name = spec.process
    const stdio = ['pipe', 'ignore', 'pipe', 'pipe'] as const
    this.#child = spawn(process.execPath, [bundledWorker(module), JSON.stringify(spec)], { stdio: [...stdio] })
    const { pid, stdin, stderr } = this.#child
    if (pid !== undefined) recordProcess(pid, 'SIGKILL')
    stdin?.on('error', () => {})
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-4_000)
    })
    const lines = createInterface({ input: this.#child.stdio[LINES] as Readable })
    lines.on('line', (text) => {
      const line = JSON.parse(text) as WorkerLine<Report>
      if (line.says === 'loaded') this.#hasLoaded = true
      if (line.says === 'running') this.#hasRun = true
      if (line.says === 'stopping') this.#hasHeardStop = true
      onLine(line)
      this.notify()
    })
    const read = once(lines, 'close')
    this.ended = once(this.#child, 'close').then(async ([code, signal]: (number | string | null)[]) => {
      if (pid !== undefined) forgetProcess(pid)
      await read
      this.#end = String(signal ?? `exit code ${code}`)
      this.notify()
      return this.#end
    })
  }

  /** @throws if it did not start */
  get pid(): number {
    const { pid } = this.#child
    if (pid === undefined) throw new Error(`${this.name} did not start`)
    return pid
  }

  /** Resolves when it waits for the order to begin. Rejects when it ends before. */
  async untilLoaded(): Promise<void> {
    await this.until(() => this.#hasLoaded || this.hasEnded)
    if (!this.#hasLoaded) throw new Error(`${this.name} ended by ${this.#end}: ${this.#lastWords}`)
  }

  /** Resolves when it runs, or has ended before. */
  async untilRunning(): Promise<void> {
    await this.until(() => this.#hasRun || this.hasEnded)
  }

  /** Resolves when it has heard the order to stop, or has ended. */
  async untilStopping(): Promise<void> {
    await this.until(() => this.#hasHeardStop || this.hasEnded)
  }

  /** A server did not answer it in time, as on a busy machine: a supervisor starts it again. */
  get couldNotStart(): boolean {
    return !this.#hasRun && this.#end === `exit code ${EXIT_FAILED}`
  }

  get hasEnded(): boolean {
    return this.#end !== undefined
  }

  /** The end of its stderr. */
  get lastWords(): string {
    return this.#lastWords
  }

  /** A frozen worker reads it once it is thawed. */
  order(order: Order): void {
    this.#child.stdin?.write(`${order}\n`)
  }

  freeze(): void {
    this.#child.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child.kill('SIGCONT')
  }

  /** SIGKILL. Resolves when it has ended. */
  async kill(): Promise<void> {
    if (!this.hasEnded) this.#child.kill('SIGKILL')
    await this.ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}
