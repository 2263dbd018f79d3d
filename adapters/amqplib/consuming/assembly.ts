import type { RedeliveryWindow } from '../../../src/internal.ts'
import type { Connector } from '../connection/connector.ts'
import { Generation, type GenerationHooks } from './generation.ts'
import { Link } from '../connection/link.ts'
import type { FittedSettings } from '../options/fit.ts'
import { adviceOn, asConfigError, checkQueue, consumersOf } from '../topology/questions.ts'
import { isAtLeast } from '../topology/server-version.ts'
import { Topology } from '../topology/topology.ts'
import type { Warning } from '../topology/warnings.ts'

interface AssemblyHooks extends GenerationHooks {
  readonly onWarning: (warning: Warning) => void
  /** Called for a queue that had been deleted and was declared again. */
  readonly onDeclaredAgain: (queue: string) => void
}

/**
 * Builds one generation after the other: connection, topology, channel and consumer. A working connection is kept
 * across generations.
 */
export class Assembly {
  readonly #connector: Connector
  readonly #settings: FittedSettings
  readonly #hooks: AssemblyHooks
  readonly #topology: Topology
  /** Running declarations by queue, so that callers share one. */
  readonly #declaring = new Map<string, Promise<boolean>>()
  #link: Link | undefined
  #made = 0
  #told = new Set<string>()

  constructor(connector: Connector, settings: FittedSettings, hooks: AssemblyHooks) {
    this.#connector = connector
    this.#settings = settings
    this.#hooks = hooks
    this.#topology = new Topology(settings)
  }

  /** Why the connection was lost, if it was. */
  get lostBecause(): string | undefined {
    return this.#link?.lostBecause
  }

  /** The broker has answered on a connection that is ours, even if it is lost by now. */
  get hasOwnLink(): boolean {
    return this.#link !== undefined && !this.#connector.isBorrowed
  }

  get serverVersion(): string {
    return this.#link?.serverVersion ?? ''
  }

  /** Seconds, as agreed with the server; 0 if there is none or it is unknown. */
  get heartbeat(): number {
    return this.#link?.connection.connection?.heartbeat ?? 0
  }

  /** Consumers of the queue may have to wait for their turn. */
  get hasTurns(): boolean {
    return this.#topology.hasTurns
  }

  get redeliveryWindow(): RedeliveryWindow | undefined {
    return this.#topology.redeliveryWindow
  }

  /** True if the queue has messages ready, or is gone. */
  async hasReady(): Promise<boolean> {
    return this.#link !== undefined && this.#topology.hasReady(this.#link)
  }

  /** The number of messages that are ready in the queue. Rejects without a connection. */
  async ready(): Promise<number> {
    if (this.#link === undefined) throw new Error('no connection')
    return checkQueue(this.#link, this.#settings.queue)
  }

  /** True if the queue has other consumers too, according to the broker. Rejects without a connection. */
  async hasRivals(): Promise<boolean> {
    if (this.#link === undefined) throw new Error('no connection')
    return (await consumersOf(this.#link, this.#settings.queue)) > 1
  }

  /** The queue may be declared differently when it is back. */
  forgetTopology(): void {
    this.#topology.forget()
  }

  /** For a copy whose queue was deleted. `false`: there is no connection, or the queue is not ours to declare. */
  async declareAgain(queue: string): Promise<boolean> {
    const link = this.#link
    if (link === undefined || link.lostBecause !== undefined) return false
    const declaring = this.#declaring.get(queue) ?? this.#topology.declareAgain(link, queue)
    this.#declaring.set(queue, declaring)
    try {
      const isDeclared = await declaring
      if (isDeclared && this.#declaring.get(queue) === declaring) this.#hooks.onDeclaredAgain(queue)
      return isDeclared
    } finally {
      this.#declaring.delete(queue)
    }
  }

  /**
   * One attempt. `goOn` throws as soon as the generation is no longer wanted.
   *
   * @throws ConfigError if the broker refused; the connection is still good
   */
  async make(goOn: () => void, isPaused: () => boolean): Promise<Generation> {
    const link = await this.#usableLink()
    goOn()
    const warnings = await this.#topology.seeTo(link)
    goOn()
    this.#tell(warnings)

    const generation = await Generation.open(link.connection, {
      number: ++this.#made,
      settings: this.#settings,
      consumeArguments: this.#topology.consumeArguments(link),
      countsReturns: !isAtLeast(link.serverVersion, 4, 3),
      hooks: this.#hooks,
      isPaused: isPaused(),
    }).catch((error: unknown) => {
      throw asConfigError(error, `queue ${this.#settings.queue}`, adviceOn(this.#settings))
    })
    try {
      goOn()
      if (!generation.isLive) throw new Error(link.lostBecause ?? 'the channel closed at once')
    } catch (error) {
      await generation.close()
      throw error
    }
    // The source was paused or resumed while the channel was opened.
    if (isPaused()) generation.pause()
    else generation.resume()
    return generation
  }

  /** Closes the connection, if it is ours. */
  async drop(): Promise<void> {
    const link = this.#link
    this.#link = undefined
    await link?.close()
  }

  /** Reports only warnings that the last attempt did not have. */
  #tell(warnings: readonly Warning[]): void {
    for (const warning of warnings) if (!this.#told.has(warning.detail)) this.#hooks.onWarning(warning)
    this.#told = new Set(warnings.map(({ detail }) => detail))
  }

  async #usableLink(): Promise<Link> {
    if (this.#link?.lostBecause !== undefined) await this.drop()
    this.#link ??= await Link.open(this.#connector, `consume-once ${this.#settings.queue}`)
    return this.#link
  }
}
