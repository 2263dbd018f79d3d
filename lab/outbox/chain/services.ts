import { WorkerProcess } from '../../kit/worker/worker-process.ts'
import type { WorkerSpec } from '../../kit/worker/spec.ts'
import type { ServiceSettings } from './orders.ts'

const MODULE = new URL('service.ts', import.meta.url)

/** The place of one service: one process at a time, which is started again whenever it has ended. */
export class Service implements AsyncDisposable {
  readonly name: string
  readonly #spec: Omit<WorkerSpec<ServiceSettings>, 'process'>
  #current: WorkerProcess<never>
  #lives = 0
  #isOver = false
  kills = 0
  /** Those it did not survive though nobody killed it. */
  readonly deaths: string[] = []

  constructor(name: string, spec: Omit<WorkerSpec<ServiceSettings>, 'process'>) {
    this.name = name
    this.#spec = spec
    this.#current = this.#start()
  }

  async kill(): Promise<void> {
    this.kills++
    await this.#current.kill()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#current.kill()
  }

  #start(): WorkerProcess<never> {
    const process = new WorkerProcess<never>(
      MODULE,
      { ...this.#spec, process: `${this.name}.${++this.#lives}` },
      () => {},
    )
    void this.#startAgain(process)
    return process
  }

  async #startAgain(process: WorkerProcess<never>): Promise<void> {
    const how = await process.ended
    if (this.#isOver) return
    if (how !== 'SIGKILL' && !process.couldNotStart) this.deaths.push(`${process.name}: ${how} ${process.lastWords}`)
    this.#current = this.#start()
  }
}
