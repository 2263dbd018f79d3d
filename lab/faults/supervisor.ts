import { Worker, type CellContext } from './worker/worker.ts'

/** Owns the workers of a cell, and starts another one when one was killed. */
export class Supervisor implements AsyncDisposable {
  readonly #context: CellContext
  readonly #workers: Worker[] = []
  readonly #starting = new Set<Promise<unknown>>()
  readonly #dismissed = new Set<Worker>()
  #isOver = false
  /** Failures that no fault explains. */
  readonly breaches: string[] = []

  constructor(context: CellContext) {
    this.#context = context
  }

  /** Resolves when the worker consumes. */
  async start(): Promise<Worker> {
    for (;;) {
      const worker = await Worker.start(`w${this.#workers.length + 1}`, this.#context)
      this.#workers.push(worker)
      void worker.process.ended.then((end) => this.#ended(worker, end))
      await worker.process.untilRunning()
      if (this.#isOver || !worker.process.couldNotStart) return worker
    }
  }

  /** Starts one more worker without waiting for it: if it fails, the cell does not drain. */
  startAnother(): void {
    const starting = this.start().catch((error: unknown) => void this.breaches.push(String(error)))
    this.#starting.add(starting)
  }

  /** SIGKILL. The caller starts another worker. */
  kill(worker: Worker): void {
    this.#dismissed.add(worker)
    void worker.process.kill()
    this.#context.recorder.record(worker.name, { f: 'crash' })
  }

  /** Stops one worker, which is not replaced. */
  async dismiss(worker: Worker): Promise<void> {
    this.#dismissed.add(worker)
    worker.process.order('stop')
    await worker.process.ended
  }

  /**
   * Stops one worker within this time, as a deployment does, and starts another one.
   *
   * @param onHeard - called when the worker has heard it
   */
  async replace(worker: Worker, withinMs: number, onHeard: () => void): Promise<void> {
    this.#dismissed.add(worker)
    const ending = this.#stop(worker, this.#workers.indexOf(worker), withinMs)
    await worker.process.untilStopping()
    onHeard()
    await ending
    await this.start()
  }

  /** @throws if there is none */
  named(name: string): Worker {
    const worker = this.#workers.find((one) => one.name === name)
    if (worker === undefined) throw new Error(`no worker ${name}`)
    return worker
  }

  /** Stops all workers, each within this time. */
  async stop(withinMs: number): Promise<void> {
    await Promise.all(this.#starting)
    this.#isOver = true
    await Promise.all(this.#workers.map((worker, index) => this.#stop(worker, index, withinMs)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    for (const worker of this.#workers) void worker.process.kill()
    await Promise.all(this.#starting)
    await Promise.all(this.#workers.map((worker) => worker[Symbol.asyncDispose]()))
  }

  async #stop({ name, process }: Worker, number: number, withinMs: number): Promise<void> {
    if (process.hasEnded) return
    const { recorder } = this.#context
    const call = { f: 'call', call: 'stop', number, withinMs } as const
    recorder.record(name, { ...call, type: 'invoke' })
    const late = AbortSignal.timeout(withinMs)
    late.addEventListener('abort', () => void process.kill())
    process.order('stop')
    const end = await process.ended
    if (end === 'exit code 0') recorder.record(name, { ...call, type: 'ok' })
    else this.breaches.push(`${name} was asked to stop and ended by ${end}: ${process.lastWords}`)
  }

  #ended(worker: Worker, end: string): void {
    if (this.#isOver || this.#dismissed.has(worker)) return
    const { name, process } = worker
    if (process.couldNotStart) return
    this.#context.recorder.record(name, { f: 'crash', detail: end })
    if (end !== 'SIGKILL') this.breaches.push(`${name} ended by itself, ${end}: ${process.lastWords}`)
    this.startAnother()
  }
}
