import type { Connector } from './connector.ts'
import { Generation, type GenerationHooks } from './generation.ts'
import { Link } from './link.ts'
import type { RabbitSettings } from './options.ts'
import { asConfigError, seeToTopology } from './topology.ts'

interface AssemblyHooks extends GenerationHooks {
  readonly onWarning: (warning: string) => void
}

/**
 * Makes one generation after the other: connection, topology, channel and consumer. The connection is kept while it is
 * good, also over generations that end without it.
 */
export class Assembly {
  readonly #connector: Connector
  readonly #settings: RabbitSettings
  readonly #hooks: AssemblyHooks
  #link: Link | undefined
  #made = 0
  #warned: string | undefined

  constructor(connector: Connector, settings: RabbitSettings, hooks: AssemblyHooks) {
    this.#connector = connector
    this.#settings = settings
    this.#hooks = hooks
  }

  /** Why the connection was lost, if it was. */
  get lostBecause(): string | undefined {
    return this.#link?.lostBecause
  }

  get serverVersion(): string {
    return this.#link?.serverVersion ?? ''
  }

  /**
   * One attempt. `goOn` throws as soon as the generation is not wanted any more.
   *
   * @throws ConfigError where the broker said no: the connection is good
   */
  async make(goOn: () => void, isPaused: () => boolean): Promise<Generation> {
    const link = await this.#usableLink()
    goOn()
    const warning = await seeToTopology(link, this.#settings)
    goOn()
    if (warning !== undefined && warning !== this.#warned) this.#hooks.onWarning(warning)
    this.#warned = warning

    const plan = { number: ++this.#made, settings: this.#settings, hooks: this.#hooks, isPaused: isPaused() }
    const generation = await Generation.open(link.connection, plan).catch((error: unknown) => {
      throw asConfigError(error, this.#settings.queue)
    })
    try {
      goOn()
      if (!generation.isLive) throw new Error(link.lostBecause ?? 'the channel closed at once')
    } catch (error) {
      await generation.close()
      throw error
    }
    // Paused or resumed while the channel was opened.
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

  async #usableLink(): Promise<Link> {
    if (this.#link?.lostBecause !== undefined) await this.drop()
    this.#link ??= await Link.open(this.#connector, `consume-once ${this.#settings.queue}`)
    return this.#link
  }
}
