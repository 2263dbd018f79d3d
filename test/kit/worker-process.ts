import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { compiled } from './compiled.ts'
import { Signal } from './signal.ts'

/** Places in the way of a message. The process kills itself there. */
export type CrashPoint =
  | 'before the handler'
  | 'before the mark'
  | 'after the mark'
  | 'after the release'
  | 'after the copy'
  | 'before the set-aside'
  | 'after the set-aside'
  | 'after the dead letter'

/** What every worker is told, whatever its broker. */
export interface WorkerSettings {
  readonly store:
    | { readonly redis: string; readonly prefix: string }
    /** With a table `effect (name text)` in the schema, but for a lease. */
    | { readonly postgres: string; readonly schema: string; readonly strategy?: 'offsets' | 'lease' }
    /** With a table `effect (name)` in the database of the URL. */
    | { readonly mariadb: string; readonly strategy: 'inbox' | 'lease' }
  readonly leaseMs?: number
  readonly maxAttempts?: number
  readonly onInDoubt?: 'rerun' | 'park'
  readonly dieAt?: CrashPoint
}

export interface WorkerMessage {
  readonly id: string
  /** `kill`: ends its process by SIGKILL. `wait`: until `letGo()`. `linger`: a little. `fail once`: in its first attempt. */
  readonly does?: 'kill' | 'fail' | 'fail once' | 'wait' | 'linger'
}

/**
 * `running`, `dies`, `started` (about: ID and attempt), `effect` (ID), an outcome (ID), `in-doubt` (ID), `lease-lost`, an
 * event of the source (its detail), or `stopped`.
 */
export interface WorkerEvent {
  readonly what: string
  readonly about: string
}

/** A consumer in a process of its own: killed, frozen and watched from here. An unhandled rejection ends it. */
export class WorkerProcess extends Signal implements AsyncDisposable {
  readonly events: WorkerEvent[] = []
  /** Resolves with what ended it. */
  readonly ended: Promise<string>
  readonly #child: ChildProcess
  #end: string | undefined

  constructor(script: URL, config: WorkerSettings) {
    super()
    const args = [compiled(script), JSON.stringify(config)]
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#child.on('message', (event) => {
      this.events.push(event as WorkerEvent)
      this.notify()
    })
    this.ended = once(this.#child, 'close').then(([code, signal]: (number | string | null)[]) => {
      this.#end = String(signal ?? `exit code ${code}`)
      this.notify()
      return this.#end
    })
  }

  told(what: string): readonly string[] {
    return this.events.filter((event) => event.what === what).map(({ about }) => about)
  }

  /** Rejects when the process ends before. */
  async untilTold(what: string, times = 1): Promise<void> {
    const isTold = (): boolean => this.told(what).length >= times
    await this.until(() => isTold() || this.#end !== undefined)
    if (!isTold()) throw new Error(`the worker ended by ${this.#end} before it told ${what}`)
  }

  /** Ends the handlers that wait. */
  letGo(): void {
    this.#child.send('let go')
  }

  /** Stops its consumer in order. Rejects when the process ends in another way. */
  async stop(): Promise<void> {
    this.#child.send('stop')
    const end = await this.ended
    if (end !== 'exit code 0') throw new Error(`the worker was told to stop and ended by ${end}`)
  }

  freeze(): void {
    this.#child.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child.kill('SIGCONT')
  }

  async kill(): Promise<void> {
    if (this.#end === undefined) this.#child.kill('SIGKILL')
    await this.ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}
